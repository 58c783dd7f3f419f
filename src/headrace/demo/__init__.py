"""A demonstration that checks itself: the real service, real events, a real sink."""

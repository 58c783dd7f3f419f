"""Redrives: which deliveries are to be made again, and how far that is."""

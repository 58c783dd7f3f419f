"""What all tests share: hypothesis without a deadline, since CI machines pause when they like."""

from hypothesis import settings

settings.register_profile("headrace", deadline=None)
settings.load_profile("headrace")

# Their tests start services and wait for them: begun first, they don't keep one core waiting for the other at the end.
_LONG = ("service", "pipeline", "docs", "delivery")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not any(folder in item.path.parts for folder in _LONG))

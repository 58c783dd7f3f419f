"""What all tests share: hypothesis without a deadline, since CI machines pause when they like."""

from hypothesis import settings

settings.register_profile("headrace", deadline=None)
settings.load_profile("headrace")

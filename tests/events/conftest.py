"""Generated examples are judged by their outcome, not by how busy the machine is."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

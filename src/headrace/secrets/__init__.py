"""Credentials, signing keys and secret headers: what they are, how they are shown, and how they are sealed at rest."""

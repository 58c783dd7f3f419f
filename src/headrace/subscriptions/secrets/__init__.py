"""Credentials, signing keys and secret headers, sealed at rest."""

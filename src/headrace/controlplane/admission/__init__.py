"""Admission: what is refused before it is stored. One file per kind, `parts.py` for what they share, one table."""

"""How much a namespace may have."""

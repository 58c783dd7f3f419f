"""`headrace filter`, and filters given as options."""

"""`headrace bench match`: what the matcher reaches, and what others reach on the same rules and events."""

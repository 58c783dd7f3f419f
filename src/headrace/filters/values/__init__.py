"""The values that filters compute with, and what CEL's operators and functions do with them."""

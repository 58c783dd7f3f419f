"""The languages a filter may be written in: one module per family, and one table of all."""

"""The languages a filter may be written in: one file per family, one table of them all."""

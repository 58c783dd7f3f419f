"""The record of changes: who did what, when, from where, and what came of it."""

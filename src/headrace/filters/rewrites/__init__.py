"""Rewrites of the tree that keep its three-valued meaning: one law per file."""

"""Rewrites of the tree that keep its three-valued meaning, unless they say less: one law per file."""

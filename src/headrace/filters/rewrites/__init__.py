"""Rewrites of the tree: one law per file. They keep the three-valued meaning unless their law says otherwise."""

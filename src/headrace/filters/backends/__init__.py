"""What the tree is turned into: one file per back end."""

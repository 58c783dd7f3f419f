"""The back ends that evaluate or write the tree."""

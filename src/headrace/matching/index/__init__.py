"""The index: flat arrays that kernels walk, and how they are built."""

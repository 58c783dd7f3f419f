"""Walking the index: compiled kernels that read the flat arrays."""

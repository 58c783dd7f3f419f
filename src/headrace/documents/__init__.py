"""Reading documents that users wrote: strict JSON, faults with paths, durations and whole numbers."""

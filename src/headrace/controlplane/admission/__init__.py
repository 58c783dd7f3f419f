"""What is refused before it is kept: one file per part of a spec, one table of kinds."""

"""One file per delivery protocol."""

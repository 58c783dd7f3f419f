"""CEL's syntax: Google's parser and checker, and the tree that they hand out."""

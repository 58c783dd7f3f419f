"""CESQL as text: tokens, the parser, and the canonical form."""

"""CloudEvents SQL 1.0: parser, writer, and translation to the tree."""

from headrace.filters.cesql.terms import term_of
from headrace.filters.cesql.text.parser import parse
from headrace.filters.cesql.text.writer import write_cesql
from headrace.filters.cesql.translation import translate

__all__ = ["parse", "term_of", "translate", "write_cesql"]

"""JSON documents -> cells: what stands at the wanted paths, read in one walk over the bytes."""

from headrace.matching.scan.scanner import scan
from headrace.matching.scan.trie import PathTrie

__all__ = ["PathTrie", "scan"]

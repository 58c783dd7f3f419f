"""After warming up, matching compiles nothing any more."""

import subprocess
import sys

PROGRAM = """
from headrace.matching.warm_up import warm_up
warm_up()
from numba.core.dispatcher import Dispatcher
from headrace.matching import pairs
from headrace.matching.index.build import grams, trees
from headrace.matching.index.kernels import hashes, keys, walk
from headrace.matching.scan import escapes, extensions, scanner
wanted = [grams.choose_grams, hashes._hash_at, walk.match_rows, keys.fill, keys._seed_owners, trees.cover, trees._hand_down,
          escapes._unescape_each, extensions._read_texts, extensions._read_types, scanner._scan_all, pairs._spread]
print(all(isinstance(each, Dispatcher) and each.signatures for each in wanted))
"""


def test_every_kernel_of_matching_is_up():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"

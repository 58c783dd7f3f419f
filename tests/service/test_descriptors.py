import subprocess
import sys

_PROGRAM = """
import resource
from headrace.service.descriptors import make_room

_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(64, most), most))
make_room()
make_room()
table = next(line for line in open("/proc/self/status") if line.startswith("FDSize:"))
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0] == most, int(table.split()[1]) >= min(16_384, most))
"""


def test_the_table_is_as_large_as_it_may_be_and_holds_nothing_more():
    found = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "True"]

import subprocess
import sys

_PROGRAM = """
import resource
from headrace.service.processes.descriptors import grow_descriptor_table

_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(64, most), most))
grow_descriptor_table()
grow_descriptor_table()
table = next(line for line in open("/proc/self/status") if line.startswith("FDSize:"))
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0] == most, int(table.split()[1]) >= min(16_384, most))
"""


def test_the_table_is_as_large_as_it_may_be_and_holds_nothing_more():
    found = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "True"]


def up(tmp_path, files):
    command = f'ulimit -n {files} && exec "$0" -m headrace up --data "$1" --port 0 --role http'
    return subprocess.run(
        ["bash", "-c", command, sys.executable, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_too_few_files_are_refused_with_the_number_that_is_needed(tmp_path):
    ended = up(tmp_path / "data", 128)
    assert ended.returncode == 1
    assert "may open 128 files here, and it takes at least 1024" in ended.stderr
    assert "ulimit -n 20512" in ended.stderr
    assert "Traceback" not in ended.stderr


_START = """
import logging, resource, sys
from headrace.config import load_config
from headrace.service.processes.descriptors import check_descriptors

logging.basicConfig()
resource.setrlimit(resource.RLIMIT_NOFILE, (100, int(sys.argv[1])))
check_descriptors(load_config(None, {"delivery.max_queued": int(sys.argv[2])}, {}))
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def start(files, queued):
    command = [sys.executable, "-c", _START, str(files), str(queued)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(found.stdout), found.stderr


def test_fewer_than_may_be_needed_are_told_and_all_that_are_allowed_are_used():
    assert start(4096, 3000) == (4096, "")
    files, told = start(4096, 5000)
    assert files == 4096
    assert "it may need 5512" in told
    assert "ulimit -n 5512" in told

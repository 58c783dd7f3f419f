"""A Spark standalone cluster on this machine: a master and workers, each a process of its own that may be killed."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyspark

from headrace.pipeline.spark.class_archive import ClassArchive, cache_folder
from headrace.pipeline.spark.java import find_java
from headrace.service.processes.service import free_port

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_SMALL = ("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class SparkCluster:
    """Workers have the cores and the memory that one small executor needs."""

    def __init__(self, folder: Path, cores: int = 1) -> None:
        self._folder = folder
        self._cores = cores
        self._java = find_java(folder)
        self._port, self._page = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{self._port}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *workers: str) -> None:
        ports = ["--port", str(self._port), "--webui-port", str(self._page)]
        self._launch("master", _MASTER, "--host", "127.0.0.1", *ports)
        self._wait(lambda: self.state()["status"] == "ALIVE")
        for name in workers:
            self.add_worker(name)
        self._wait(lambda: self.state()["aliveworkers"] == len(workers))

    def add_worker(self, name: str) -> None:
        size = ["--cores", str(self._cores), "--memory", "640m", "--work-dir", str(self._folder / name)]
        self._launch(name, _WORKER, "--host", "127.0.0.1", "--webui-port", "0", *size, self.master)

    def kill(self, name: str) -> None:
        """SIGKILL a worker, its executors and their Python processes at once, as a machine that fails."""
        process = self.processes.pop(name)
        for each in _with_descendants(process.pid):
            os.kill(each, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for name in sorted(self.processes, key="master".__eq__):
            self.kill(name)

    def state(self) -> Mapping[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=5) as answer:
            state: Mapping[str, Any] = msgspec.json.decode(answer.read())
            return state

    def output(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in self._folder.glob("*.output"))

    def _launch(self, name: str, main: str, *arguments: str) -> None:
        home = Path(pyspark.__file__).parent
        archive = ClassArchive(self._java, cache_folder()).options().split()
        # Executors inherit this: they find Python, and the package as the tests see it.
        own = {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}
        environment = os.environ | own | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [
            str(self._java.home / "bin" / "java"),
            *_SMALL,
            *archive,
            "-cp",
            f"{home}/jars/*",
            main,
            *arguments,
        ]
        with (self._folder / f"{name}.output").open("wb") as output:
            self.processes[name] = subprocess.Popen(
                command, stdout=output, stderr=output, env=environment, start_new_session=True
            )

    def _wait(self, condition: Any, seconds: float = 300.0) -> None:
        deadline = time.monotonic() + seconds
        while True:
            try:
                if condition():
                    return
            except OSError:
                pass  # its page isn't up yet
            assert all(each.poll() is None for each in self.processes.values()), self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.1)


def _with_descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for each in found:
        found += children.get(each, ())
    return found

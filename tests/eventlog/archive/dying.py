"""`python -m tests.eventlog.archive.dying FOLDER`: kill a run of the keeper at every one of its steps, and look.

Each run is a real process that kills itself with SIGKILL before or after an operation on the file system. The log is
a stand-in for the embedded one, because its events have to be of several days.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

from tests.eventlog.archive.archives import archived, keeper, prepared

from headrace.eventlog.archive.storage import Storage


class DyingStorage(Storage):
    """Dies at its nth step."""

    def __init__(self, root, steps):
        super().__init__(root)
        self._left = steps
        self._files = _Watched(self._files, self._step)

    def _step(self):
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def keep(self, paths):
        self._step()
        super().keep(paths)
        self._step()


class _Watched:
    """A file system in which each change is a step before it and one after it; a new file is half written between."""

    _CHANGES = ("open_output_stream", "move", "delete_file")

    def __init__(self, files, step):
        self._files, self._step = files, step

    def __getattr__(self, name):
        method = getattr(self._files, name)
        return self._watched(name, method) if name in self._CHANGES else method

    def _watched(self, name, method):
        def call(*arguments):
            self._step()
            result = method(*arguments)
            if name == "open_output_stream":
                with self._files.open_output_stream(*arguments) as torn:
                    torn.write(b"PAR1 torn")
            self._step()
            return method(*arguments) if name == "open_output_stream" else result

        return call


def look(folder, log):
    """Every event is in the archive once, if it should be, and after the archive in the log."""
    storage = Storage(str(folder))
    manifest = storage.manifest()
    end = manifest.archived[0]
    positions = sorted(
        recorded.position for file in manifest.files for recorded in archived(storage, only=file, tidy=False)
    )
    begin = manifest.expired.get(0, 0)
    assert positions == list(range(begin, end)), (positions, begin, end)
    return positions + [recorded.position for recorded in log.events(end, log.last)]


def main(scratch):
    template = scratch / "template"
    log = prepared(template)
    deaths, states = 0, set()
    for steps in range(1, 1000):
        folder = scratch / f"{steps}"
        shutil.copytree(template, folder)
        child = os.fork()
        if child == 0:
            keeper(DyingStorage(str(folder), steps), log).run()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        states.add(tuple(look(folder, log)))
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0, "the run failed otherwise"
            break
        deaths += 1
        done = keeper(Storage(str(folder)), log).run()
        assert not done.manifest.leaving, "what left is cleaned away"
        assert archived(Storage(str(folder))) == log.events(log.expired, log.last)
        shutil.rmtree(folder)
    sys.stdout.write(f"{deaths} {len(states)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

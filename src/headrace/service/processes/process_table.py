"""The processes of a running service, as the kernel lists them."""

from __future__ import annotations

from pathlib import Path


def session_processes(session: int) -> dict[int, list[bytes]]:
    """Return the processes of a session, which are all that one service started, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if int(stat[3]) == session:
                found[int(entry.name)] = command
    return found


def role_processes(session: int, role: str) -> list[int]:
    """Return the processes of a session that run this role."""
    return [
        process
        for process, command in session_processes(session).items()
        if b"headrace.service.role" in command and role.encode() in command
    ]


def parent_of(process: int) -> int:
    """Return the process that started this one; 0 if this one has ended."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def memory_bytes(session: int) -> int:
    """Return the memory of a session's processes; pages that several of them share count once."""
    return sum(map(_memory_of, session_processes(session)))


def _memory_of(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))

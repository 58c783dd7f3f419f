"""The keys that secrets are encrypted with: one a line, in base64. The first encrypts, all decrypt.

A key's id is the start of its hash, so that a row can say which key it needs, and nothing more.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headrace.errors import SecretsLocked

if TYPE_CHECKING:
    from collections.abc import Iterable

_BYTES = 32
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_HEADER = (
    "# Keys of Headrace's secrets. The first encrypts, all decrypt. Whoever has this file can open them.\n"
)


@dataclass(frozen=True, slots=True)
class Key:
    """256 bits for AES-GCM."""

    id: str
    value: bytes = field(repr=False)


KeyRing = tuple[Key, ...]


class Keys(Protocol):
    """Where keys come from. They are asked for anew each time: an operator may have changed them."""

    where: str

    def ring(self) -> KeyRing:
        """Return the keys, none where there are none yet; SecretsLocked where they can't be read."""
        ...

    def make(self) -> KeyRing:
        """Make the first key, unless somebody else did; SecretsLocked where keys are given and not made."""
        ...


class GivenKeys:
    """Keys from the configuration."""

    where = "store.secrets_keys"

    def __init__(self, texts: Iterable[str]) -> None:
        self._ring = tuple(_read(text, self.where) for text in texts)

    def ring(self) -> KeyRing:
        """Return the keys."""
        return self._ring

    def make(self) -> KeyRing:
        """Return the keys: there is at least one."""
        return self._ring


class KeyFile:
    """Keys in a file that only its owner can read. It is replaced as a whole, so that a reader never sees a part."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.where = str(path)

    def ring(self) -> KeyRing:
        """Read the file; none where there is no file."""
        try:
            lines = self.path.read_text().splitlines()
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError) as error:
            raise SecretsLocked(f"the key file {self.path} can't be read: {error}") from None
        texts = [line.strip() for line in lines]
        return tuple(_read(text, self.where) for text in texts if text and not text.startswith("#"))

    def make(self) -> KeyRing:
        """Make the file with a new key, unless it is there by now."""
        made = self._write_beside((new_key(),))
        try:
            with suppress(FileExistsError):
                os.link(made, self.path)  # of several that start at once, one wins
                _sync_folder(self.path.parent)
        finally:
            made.unlink()
        return self.ring()

    def write(self, ring: KeyRing) -> None:
        """Replace the file, durably."""
        self._write_beside(ring).replace(self.path)
        _sync_folder(self.path.parent)

    def is_private(self) -> bool:
        """Tell whether nobody but its owner may read or write it."""
        return not self.path.stat().st_mode & _OTHERS

    def _write_beside(self, ring: KeyRing) -> Path:
        path = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(_HEADER + "".join(f"{write_key(key)}\n" for key in ring))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise SecretsLocked(f"the key file {self.path} can't be written: {error}") from None
        return path


def keys_from(file: str, texts: Iterable[str]) -> Keys:
    """Return what the configuration says: the given keys, or else the file's."""
    given = tuple(texts)
    return GivenKeys(given) if given else KeyFile(Path(file))


def new_key() -> Key:
    """Make a key."""
    return _key(secrets.token_bytes(_BYTES))


def write_key(key: Key) -> str:
    """Return a key as a line of the file."""
    return base64.b64encode(key.value).decode()


def _read(text: str, where: str) -> Key:
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        value = b""
    if len(value) != _BYTES:
        raise SecretsLocked(
            f"{where} has a line that is no key: each is the base64 of {_BYTES} bytes; "
            "restore the file from a copy, or make a key with `headrace secrets new-key`"
        )
    return _key(value)


def _key(value: bytes) -> Key:
    return Key(hashlib.sha256(b"headrace key " + value).hexdigest()[:16], value)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""A token in a file, which can be replaced without a restart of the program."""

from __future__ import annotations

from pathlib import Path

from headrace.errors import ConfigError


class TokenFile:
    """Reads the file for each request, so that a Secret of a cluster can be rotated while a program runs."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def __call__(self) -> str:
        """Return the current token, or raise ConfigError."""
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            raise ConfigError(
                f"the token can't be read from {str(self._path)!r}: {error.strerror}; "
                "give a file that holds one (--token-file, HEADRACE_TOKEN_FILE), readable by whoever runs this"
            ) from error
        except UnicodeDecodeError:
            raise ConfigError(f"there is no token in {str(self._path)!r}: it is not a text file") from None
        if not token:
            raise ConfigError(
                f"there is no token in {str(self._path)!r}: the file is empty; write an API key into it"
            )
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ConfigError(f"there is no token in {str(self._path)!r}: a token is one line without spaces")
        return token

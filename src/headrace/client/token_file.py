"""A token in a file: whoever writes another one there is not asked to start the program again."""

from __future__ import annotations

from pathlib import Path

from headrace.errors import ConfigError


class TokenFile:
    """Called for each request, so that a Secret of a cluster can be exchanged while a program runs."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def __call__(self) -> str:
        """Return what stands there now; ConfigError where nothing does."""
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            raise ConfigError(
                f"the token can't be read from {str(self._path)!r}: {error.strerror}; "
                "give a file that holds one (--token-file, HEADRACE_TOKEN_FILE), readable by whoever runs this"
            ) from error
        except UnicodeDecodeError:
            raise ConfigError(
                f"there is no token in {str(self._path)!r}: it holds bytes that are no text"
            ) from None
        if not token:
            raise ConfigError(
                f"there is no token in {str(self._path)!r}; the file is empty: write an API key into it, and no more"
            )
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ConfigError(f"there is no token in {str(self._path)!r}: a token is one line without spaces")
        return token

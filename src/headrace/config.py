"""The configuration: `defaults.toml`, then a file, then the environment; each value knows where it came from."""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.api.settings import ApiSettings
from headrace.auth.settings import AuthSettings
from headrace.delivery.settings import DeliverySettings
from headrace.errors import ConfigError
from headrace.eventlog.archive.settings import ArchiveSettings
from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.eventlog.settings import LogSettings
from headrace.interest.settings import InterestSettings
from headrace.matching.settings import MatchingSettings
from headrace.pipeline.settings import PipelineSettings
from headrace.secrets.masks import MASK, without_password
from headrace.subscriptions.quotas.quotas import Quotas
from headrace.subscriptions.settings import StoreSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEFAULTS = Path(__file__).with_name("defaults.toml")
PREFIX = "HEADRACE_"
FILE_VARIABLE = "HEADRACE_CONFIG"
# Variables of this prefix that are no settings.
_NOT_SETTINGS = {
    FILE_VARIABLE,
    "HEADRACE_CHECKED_KERNELS",
    "HEADRACE_URL",
    "HEADRACE_TOKEN",
    "HEADRACE_TOKEN_FILE",
}
_SECRET = {"store.secrets_keys", "auth.admin_keys"}


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set, one typed object per package."""

    data: Path
    roles: tuple[str, ...]
    api: ApiSettings
    auth: AuthSettings
    quotas: Quotas
    store: StoreSettings
    log: LogSettings
    archive: ArchiveSettings
    kafka: KafkaSettings
    matching: MatchingSettings
    interest: InterestSettings
    pipeline: PipelineSettings
    delivery: DeliverySettings


@dataclass(frozen=True, slots=True)
class Value:
    """A setting in effect, and who set it."""

    value: Any
    origin: str


Values = dict[str, Value]


def load_config(
    file: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Config:
    """Return the configuration in effect."""
    return build(effective_values(file, overrides, environment))


def effective_values(
    file: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Values:
    """Return each setting by its dotted key. Later sources win: defaults, file, environment, command line."""
    values = {key: Value(value, "default") for key, value in _flatten(tomllib.loads(DEFAULTS.read_text()))}
    file = file or (Path(environment[FILE_VARIABLE]) if FILE_VARIABLE in environment else None)
    for key, value in _read(file):
        _set(values, key, value, str(file))
    for variable in sorted(environment):
        if variable.startswith(PREFIX) and variable not in _NOT_SETTINGS:
            key = _key_of(variable, values)
            _set(values, key, _typed(environment[variable], values[key].value, variable, key), variable)
    for key, value in (overrides or {}).items():
        if value is not None:
            _set(values, key, value, "command line")
    data = str(Path(values["data"].value).absolute())
    if "?" in data:
        raise ConfigError(
            f"the data folder {data!r} has a question mark in its name, which a database URL can't have"
        )
    return {key: _with_data(each, data) for key, each in values.items()} | {
        "data": Value(data, values["data"].origin)
    }


def build(values: Values) -> Config:
    """Turn settings into typed objects; ConfigError names the one that doesn't fit."""
    nested: dict[str, Any] = {}
    for key, each in values.items():
        *sections, name = key.split(".")
        table = nested
        for section in sections:
            table = table.setdefault(section, {})
        table[name] = each.value
    try:
        return msgspec.convert(nested, Config, dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$.")
        key = place.rstrip("`").partition("[")[0]
        if key not in values:
            raise ConfigError(str(error)) from None
        value, origin = values[key].value, values[key].origin
        raise ConfigError(
            f"{origin} sets {key} to {shown(key, value)!r}, which can't be used: {problem}"
        ) from None


def shown(key: str, value: Any) -> Any:
    """Return a value as it may be printed: what is printed gets copied."""
    if key in _SECRET:
        return MASK if value else value
    return without_password(value) if key.endswith(".url") and isinstance(value, str) else value


def _flatten(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _read(file: Path | None) -> list[tuple[str, Any]]:
    if file is None:
        return []
    try:
        return list(_flatten(tomllib.loads(file.read_text())))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the configuration file {file} can't be read: {error}") from None


def _set(values: Values, key: str, value: Any, origin: str) -> None:
    if key not in values:
        raise ConfigError(f"{origin} sets {key!r}, which is no setting; `headrace config` lists them")
    default = values[key].value
    fits = isinstance(value, type(default)) or (isinstance(default, float) and isinstance(value, int))
    if not fits or (isinstance(value, bool) and not isinstance(default, bool)):
        raise ConfigError(
            f"{origin} sets {key} to {shown(key, value)!r}, which is not of type {type(default).__name__}"
        )
    values[key] = Value(float(value) if isinstance(default, float) else value, origin)


def _key_of(variable: str, values: Values) -> str:
    wanted = variable.removeprefix(PREFIX).lower()
    for key in values:
        if key.replace(".", "_") == wanted:
            return key
    raise ConfigError(f"{variable} in the environment is no setting; `headrace config` lists them")


def _typed(text: str, default: Any, variable: str, key: str) -> Any:
    if isinstance(default, str):
        return text
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        raise ConfigError(
            f"{variable} is {shown(key, text)!r}, which is not of type {type(default).__name__}"
        ) from None
    return value


def _with_data(value: Value, data: str) -> Value:
    if isinstance(value.value, str) and "{data}" in value.value:
        return Value(value.value.replace("{data}", data), value.origin)
    return value


def write_snapshot(config: Config, path: Path) -> None:
    """Write the configuration for a role's process. A file that is whole isn't touched: the disk may be full."""
    content = msgspec.json.encode(config, enc_hook=str)
    with suppress(OSError):
        if path.read_bytes() == content:
            return
    path.touch(0o600)  # it may hold a password
    path.write_bytes(content)


def read_snapshot(path: Path) -> Config:
    """Read what `write_snapshot` wrote; ConfigError if the file was damaged or removed since."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Config, dec_hook=lambda kind, value: kind(value))
    except (OSError, ValueError) as error:  # msgspec's errors are ValueErrors
        problem = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"the settings in {path} can't be read ({problem}); they are written anew when the role starts again"
        ) from error

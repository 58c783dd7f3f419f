"""Subscriptions as they are proposed, for the tests of protocols."""

from typing import Any

import pytest

from headrace.errors import InvalidSubscription
from headrace.subscriptions.subscription import parse_subscription


def settings_of(protocol: str, sink: str, **settings: Any) -> dict[str, Any]:
    """The settings as they are kept."""
    document = {"sink": sink, "protocol": protocol, "protocolsettings": settings}
    return dict(parse_subscription(document).protocolsettings)


def faults_of(protocol: str, sink: str, **settings: Any) -> list[tuple[str, str]]:
    """What is refused; without a doubt something is."""
    with pytest.raises(InvalidSubscription) as caught:
        settings_of(protocol, sink, **settings)
    return list(caught.value.faults)


def paths_of(protocol: str, sink: str, **settings: Any) -> list[str]:
    return [path for path, _ in faults_of(protocol, sink, **settings)]

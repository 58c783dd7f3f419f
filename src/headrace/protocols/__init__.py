"""What a subscription may say about its delivery protocol: one small file per protocol, one table of them all.

The protocols themselves are in `delivery`; what can be refused at creation is refused by what stands here.
"""

from headrace.protocols.checks import (
    check_credential_type,
    check_delivery_members,
    check_protocol,
    check_sink,
    check_together,
    complete,
)
from headrace.protocols.table import PROTOCOLS

__all__ = [
    "PROTOCOLS",
    "check_credential_type",
    "check_delivery_members",
    "check_protocol",
    "check_sink",
    "check_together",
    "complete",
]

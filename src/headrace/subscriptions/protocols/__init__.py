"""What a subscription may say about its delivery protocol: one small file per protocol, one table of them all.

The protocols themselves are in `delivery`; what can be refused at creation is refused by what stands here.
"""

from headrace.documents.faults import Faults
from headrace.subscriptions.protocols.addresses import address_schema
from headrace.subscriptions.protocols.checks import (
    check_credential_type,
    check_delivery_members,
    check_protocol,
    check_sink,
    check_together,
    complete,
)
from headrace.subscriptions.protocols.table import PROTOCOLS

__all__ = [
    "PROTOCOLS",
    "Faults",
    "address_schema",
    "check_credential_type",
    "check_delivery_members",
    "check_protocol",
    "check_sink",
    "check_together",
    "complete",
]

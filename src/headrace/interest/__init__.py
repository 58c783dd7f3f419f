"""The interest of a channel: what its subscriptions want together, so that producers need not send the rest.

The law: the interest holds for every event that a subscription of the channel matches. It may hold for more; then it is
not `exact`. Producers rely on it for a short time only, because somebody may subscribe meanwhile.

`criteria.py` is the interest of one subscription, `union.py` joins many, `channel_interest.py` keeps the union of one
channel, and `interests.py` those of all channels.
"""

from typing import TYPE_CHECKING

from headrace.exports import exported

if TYPE_CHECKING:
    from headrace.interest.interests import Interest, Interests
    from headrace.interest.settings import InterestSettings

__all__ = ["Interest", "InterestSettings", "Interests"]
__getattr__ = exported(
    __name__,
    {
        "Interest": "headrace.interest.interests",
        "InterestSettings": "headrace.interest.settings",
        "Interests": "headrace.interest.interests",
    },
)

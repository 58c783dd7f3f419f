"""What a channel's subscriptions want, all together: told to who sends events, so that the rest need not be sent.

The law: what is told holds for every event that a subscription of the channel would match. It may hold for more; then
it says so. Whoever drops events by it relies on it for a short time only, because somebody may subscribe meanwhile.
"""

from typing import TYPE_CHECKING

from headrace.exports import exported

if TYPE_CHECKING:
    from headrace.interest.interest import Interest
    from headrace.interest.interests import Interests
    from headrace.interest.settings import InterestSettings

__all__ = ["Interest", "InterestSettings", "Interests"]
__getattr__ = exported(
    __name__,
    {
        "Interest": "headrace.interest.interest",
        "InterestSettings": "headrace.interest.settings",
        "Interests": "headrace.interest.interests",
    },
)

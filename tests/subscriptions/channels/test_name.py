import pytest

from headrace.errors import InvalidChannel
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL, ChannelName, check_channel, parse_channel

LABELS = ["a", "0", "a-b", "a--b", "x" * 63, "0a"]
NOT_LABELS: list[object] = [
    "",
    "-a",
    "a-",
    "A",
    "a.b",
    "a_b",
    "x" * 64,
    "ä",
    "a\n",
    "a b",
    None,
    7,
    ["a"],
    {},
]


@pytest.mark.parametrize("label", LABELS)
def test_labels(label):
    assert check_channel(label, "n") == ChannelName(label, "n")
    assert check_channel("n", label) == ChannelName("n", label)
    assert parse_channel(f"{label}/n") == ChannelName(label, "n")


@pytest.mark.parametrize("label", NOT_LABELS, ids=repr)
def test_what_is_no_label_is_refused_by_its_part(label):
    with pytest.raises(InvalidChannel, match=r"^namespace: .* is not a DNS label"):
        check_channel(label, "n")
    with pytest.raises(InvalidChannel, match=r"^name: .* is not a DNS label"):
        check_channel("n", label)


@pytest.mark.parametrize(
    "text", ["", "a", "a/b/c", "/", None, 7, ["a", "b"], {"namespace": "a", "name": "b"}], ids=repr
)
def test_what_is_no_channel(text):
    with pytest.raises(InvalidChannel):
        parse_channel(text)


def test_text_there_and_back():
    assert str(DEFAULT_CHANNEL) == "default/default"
    assert parse_channel(str(ChannelName("team-a", "orders"))) == ChannelName("team-a", "orders")

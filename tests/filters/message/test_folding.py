from tests.filters.message.folding import fold
from tests.filters.message.google import google_says
from tests.filters.message.strategies import recorded

from headrace.filters.message import property, to_cel  # noqa: A004

CHARACTERS = [
    character
    for character in map(chr, (*range(1, 0xD800), *range(0xE000, 0x110000)))
    if not character == character.lower() == character.upper() == character.casefold()
]


def test_the_text_keeps_its_length():
    assert all(len(fold(character)) == 1 for character in CHARACTERS)


def test_what_is_folded_is_equal_to_google_too():
    folded = [character for character in CHARACTERS if fold(character) != character]
    assert len(folded) > 1400
    for character in folded:
        text = to_cel(property("x").starts_with(fold(character), ignore_case=True))
        assert google_says(text, recorded({"x": character})) is True, hex(ord(character))


def test_what_is_not_folded_differs_to_google_too():
    plain = "".join(c for c in CHARACTERS if fold(c) == c)
    for character in "ßıİŉẖΐ":
        others = plain.replace(character, "").replace("\u1fd3", "")
        text = to_cel(property("x").contains(character, ignore_case=True))
        assert fold(character) not in fold(others)
        assert google_says(text, recorded({"x": others})) is False

"""JSON documents of all shapes, as bytes, and paths into them."""

import json

from hypothesis import strategies as st

KEYS = [
    "a",
    "b",
    "c",
    "",
    "é",
    "key",
    "eight by",
    "nine byte",
    "a key of more than thirty-two bytes: 😀",
    "a\n",
]

spaces = st.sampled_from(["", "", "", " ", "\n  ", "\t", "\r\n", " " * 40])
number_texts = st.one_of(
    st.integers(-9, 9).map(str),
    st.integers().map(str),
    st.integers(-(2**63) - 3, 2**63 + 3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=2).map(str),
    st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?", fullmatch=True).filter(
        str.isascii
    ),
)
escapes = st.sampled_from(
    [r"\n", r"\"", r"\\", r"\/", r"\u00e9", r"\u0000", r"\ud83d\ude00", r"\uD83D", r"\udc00", r"\u12", r"\x"]
)
plain_strings = (
    st.text(max_size=40)
    .map(lambda text: json.dumps(text, ensure_ascii=False))
    .filter(lambda text: not any("\ud800" <= each <= "\udfff" for each in text))
)
string_texts = st.one_of(
    plain_strings,
    plain_strings,
    st.text(max_size=8).map(json.dumps),
    st.lists(st.one_of(escapes, st.text("xyz ", max_size=40)), max_size=4).map(
        lambda parts: f'"{"".join(parts)}"'
    ),
)
key_texts = st.one_of(
    st.sampled_from(KEYS).map(lambda key: json.dumps(key, ensure_ascii=False)),
    st.sampled_from(KEYS[:5]).map(lambda key: json.dumps(key, ensure_ascii=False)),
    st.sampled_from([r'"\u0061"', r'"k\u0065y"']),
    string_texts,
)


def _object(pairs, space):
    return (
        "{" + space + f"{space},".join(f"{key}{space}:{space}{value}" for key, value in pairs) + space + "}"
    )


def _array(values, space):
    return "[" + space + f",{space}".join(values) + space + "]"


def _containers(values):
    return st.one_of(
        st.builds(_object, st.lists(st.tuples(key_texts, values), max_size=6), spaces),
        st.builds(_array, st.lists(values, max_size=5), spaces),
    )


scalar_texts = st.one_of(number_texts, string_texts, st.sampled_from(["null", "true", "false"]))
value_texts = st.recursive(scalar_texts, _containers, max_leaves=20)
object_texts = st.builds(_object, st.lists(st.tuples(key_texts, value_texts), max_size=8), spaces)
documents = st.one_of(object_texts, object_texts, st.tuples(spaces, value_texts, spaces).map("".join)).map(
    str.encode
)


@st.composite
def mutated(draw):
    """Return a document with some bytes changed, taken out, put in, or cut off."""
    text = bytearray(draw(documents))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(text)))
        new = draw(st.one_of(st.sampled_from([*b'{}[]",:\\-+.eE019u \n\x00\x1f\x7f']), st.integers(0, 255)))
        match draw(st.integers(0, 3)):
            case 0:
                text[place : place + 1] = bytes([new])
            case 1:
                del text[place : place + 1]
            case 2:
                text.insert(place, new)
            case _:
                del text[place:]
    return bytes(text)


paths = st.one_of(
    st.lists(st.sampled_from(KEYS[:5]), max_size=3), st.lists(st.sampled_from(KEYS), max_size=3)
).map(tuple)


@st.composite
def wanted_paths(draw):
    """Return fields in no order, with a gap, as columns of other variables leave one."""
    chosen = draw(st.lists(paths, max_size=8, unique=True))
    fields = draw(st.permutations(range(len(chosen) + 1)))
    return {path: (fields[place], draw(st.booleans())) for place, path in enumerate(chosen)}

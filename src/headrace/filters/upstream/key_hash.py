"""The hash of the index's keys in plain Python, equal to that of its compiled kernels."""

from __future__ import annotations

DEFINITION = (
    "mix(h) is the upper 64 bits of h * 0x9E3779B97F4A7C15, xor the lower 64 bits. "
    "hash(bytes, seed): h = seed; for each 8 bytes w, little endian, the last padded with zeros, h = mix(h ^ w); "
    "then h = mix(h ^ length). hash(number, seed) = mix(mix(seed ^ number) ^ 8). "
    "A field's seed is hash(its name in UTF-8, seed); a key's seed is mix(field's seed ^ space), where space is "
    "0 equal, 1 start, 2 end, 3 element, 4 gram. Texts are hashed in UTF-8. "
    "Numbers are hashed as the bits of a double, of which zero has one sign, xor 255 << 56; "
    "null, false and true as 0, 1 and 2, xor 254 << 56; "
    "a gram of n bytes as its bytes, little endian, xor (240 - n) << 56. "
    "A key's block is ((h >> 32) * blocks) >> 32; its bits there are the lowest nine bits of mix(h), the next nine, "
    "and so on; bit i is bit i % 8 of byte i // 8, of 64 bytes."
)
"""The definition for readers of exported filters in other languages."""

EQUAL_SPACE, START_SPACE, END_SPACE, ELEMENT_SPACE, GRAM_SPACE = range(5)
NUMBER_TAG, CONSTANT_TAG, GRAM_TAG = 255, 254, 240

_M = 0x9E3779B97F4A7C15
_WORD = 2**64 - 1


def mix(value: int) -> int:
    """Mix 64 bits."""
    product = value * _M
    return (product >> 64) ^ (product & _WORD)


def hash_text(text: bytes, seed: int) -> int:
    """Hash bytes."""
    value = seed
    for start in range(0, len(text), 8):
        value = mix(value ^ int.from_bytes(text[start : start + 8], "little"))
    return mix(value ^ len(text))


def hash_number(number: int, tag: int, seed: int) -> int:
    """Hash 64 bits, signed or not, of the kind that the tag names."""
    return mix(mix(seed ^ (number & _WORD) ^ tag << 56) ^ 8)


def field_seed(name: str, seed: int) -> int:
    """Return the seed of a field."""
    return hash_text(name.encode(errors="surrogatepass"), seed)


def key_seed(of_field: int, space: int) -> int:
    """Return the seed of one kind of a field's keys."""
    return mix(of_field ^ space)

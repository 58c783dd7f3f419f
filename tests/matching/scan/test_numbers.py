import random
import struct

from tests.matching.scan.reading import scanned

from headrace.matching.extraction.cells import DOUBLE, INT


def read(texts):
    return [
        None if cells is None else cells[()]
        for cells in scanned([each.encode() for each in texts], {(): (0, False)})
    ]


def bits_of(text):
    return struct.unpack("<q", struct.pack("<d", float(text)))[0]


def assert_doubles(texts):
    """Check against Python; return the share of those that are odd."""
    found = read(texts)
    for text, cell in zip(texts, found, strict=True):
        assert cell in (None, (DOUBLE, bits_of(text))), text
    return found.count(None) / len(texts)


def test_doubles_as_programs_write_them():
    chance = random.Random(1)
    texts = [f"{chance.uniform(-1000, 1000):.{chance.randrange(1, 19)}f}" for _ in range(20_000)]
    texts += [repr(chance.uniform(-180, 180)) for _ in range(20_000)]
    texts += [f"{chance.gauss(0, 1):.{chance.randrange(1, 18)}e}" for _ in range(20_000)]
    assert assert_doubles(texts) == 0


def test_doubles_of_any_bits():
    chance = random.Random(2)
    drawn = [struct.unpack("<d", chance.randbytes(8))[0] for _ in range(40_000)]
    texts = [text for each in drawn if "n" not in (text := repr(each)) and ("." in text or "e" in text)]
    assert assert_doubles(texts) < 0.002  # those below the normal ones


def test_digits_of_any_number_with_any_exponent():
    chance = random.Random(3)
    texts = [
        f"{chance.randrange(10 ** chance.randrange(1, 40))}.{chance.randrange(10 ** chance.randrange(1, 30)):03}e{chance.randrange(-320, 290)}"
        for _ in range(40_000)
    ]
    assert assert_doubles(texts) < 0.1


def test_ties_between_two_doubles():
    chance = random.Random(4)
    texts = []
    for _ in range(20_000):
        halfway = chance.randrange(2**53, 2**54) | 1
        shift = chance.randrange(0, 10)
        texts += [
            f"{halfway << shift}.0",
            f"{(halfway << shift) + 1}.0",
            f"{halfway}e{chance.randrange(0, 5)}",
            f"{halfway / 2**30:.25f}",
        ]
    texts += [f"{whole}.5" for whole in range(2**52, 2**52 + 100)]
    assert_doubles(texts)
    assert_doubles(
        [
            "9007199254740993.0",
            "9007199254740993e0",
            "9007199254740992.5",
            "0.500000000000000166533453693773481063544750213623046875",
        ]
    )


def test_edges_of_the_doubles():
    assert_doubles(
        [
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "2.2250738585072014e-308",
            "2.2250738585072011e-308",
            "5e-324",
            "1e-400",
            "1e308",
            "0.0",
            "-0.0",
            "0e5",
            "0.0e-9999",
        ]
    )
    assert read(["1.7976931348623157e308", "-0.0"]) == [
        (DOUBLE, bits_of("1.7976931348623157e308")),
        (DOUBLE, bits_of("-0.0")),
    ]
    assert read(["1.7976931348623159e308", "1e309", "1e99999"]) == [None] * 3


def test_integers():
    chance = random.Random(5)
    values = [chance.randrange(-(10**size), 10**size) for size in range(1, 19) for _ in range(500)]
    values += [0, 2**63 - 1, -(2**63) + 1, 10**18]
    assert read(map(str, values)) == [(INT, value) for value in values]
    assert read(["-0", "9223372036854775808", "-9223372036854775809", "18446744073709551617", "1" * 30]) == [
        (INT, 0),
        *[None] * 4,
    ]

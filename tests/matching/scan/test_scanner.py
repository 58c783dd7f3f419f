import ctypes
import json
import mmap
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.matching.scan.documents import documents, mutated, wanted_paths
from tests.matching.scan.reading import laid_out, reference, scanned

from headrace.matching.extraction.cells import ABSENT, INT, LIST, MAP, NOWHERE, STRING, TRUE, Cells
from headrace.matching.scan import PathTrie, scan
from headrace_bench.events import bench_events

CORPUS = [
    b'{"a":1,"b":{"c":"x","key":[1,2.5,"z",null,true,{}]},"c":-1.5e3,"":false}',
    '{ "é" : "Köln € 😀" , "a":[[],[{}],{"b":[1]}],\n"b" :{"a":{"c":""}}, "key":"\u007f" }'.encode(),
    rb'{"x":"\u00e9\n\"\\\/ \ud83d\ude00","b":{"b":{"b":0}},"y":[0.1,1E5,1e-7,-0,-0.0],"a":null}',
    b'[{"a":1},"text",12345678901234567890,1.7976931348623157e308]',
    b'"just text"',
    b"12.25",
    msgspec.json.encode(
        {"note": "all work and no play " * 5, "a": {"b": {"c": [True] * 9}}, "b": list(range(30))}
    ),
]
WANTED = {
    (): (0, True),
    ("a",): (1, True),
    ("b",): (2, False),
    ("b", "c"): (3, False),
    ("b", "key"): (4, True),
    ("c",): (5, False),
    ("",): (6, False),
    ("é",): (7, False),
    ("a", "b", "c"): (8, True),
    ("b", "b", "b"): (9, False),
    ("b", "a", "c"): (10, False),
}


def assert_as_reference(texts, wanted, **around):
    found = scanned(texts, wanted, **around)
    for text, cells in zip(texts, found, strict=True):
        if cells is not None:
            assert cells == reference(text, wanted), text
    return found


@examples(150)
@given(st.lists(documents, min_size=1, max_size=6), wanted_paths(), st.binary(max_size=40))
def test_cells_are_what_the_reference_sees(texts, wanted, junk):
    assert_as_reference(texts, wanted, between=junk)


@examples(150)
@given(
    st.lists(mutated(), min_size=1, max_size=8),
    wanted_paths(),
    st.sampled_from([b"", b'"', b"0", b"]}", b"\x80" * 40]),
)
def test_damage_is_seen_wherever_it_is(texts, wanted, junk):
    assert_as_reference(texts, wanted, before=junk, between=junk, after=junk)


@pytest.mark.parametrize("wanted", [WANTED, {}, {("nowhere",): (0, False)}], ids=["many", "none", "absent"])
def test_every_changed_byte_of_a_corpus(wanted):
    chance = random.Random(7)
    texts = []
    for document in CORPUS:
        for place in range(len(document)):
            for new in [*chance.sample(range(256), 6), *chance.sample(b'"\\{}[],:0-.e ', 4)]:
                texts += [document[:place] + bytes([new]) + document[place + 1 :]]
            texts.append(document[:place])
            texts.append(document[:place] + document[place + 1 :])
    found = assert_as_reference(texts, wanted)
    assert sum(cells is not None for cells in found) > len(texts) // 20


def test_ordinary_documents_are_not_odd():
    wanted = {
        ("amount",): (0, False),
        ("customer", "tier"): (1, False),
        ("items",): (2, True),
        ("order",): (3, False),
    }
    texts = [event.data or b"" for event in bench_events(300)]
    assert None not in assert_as_reference(texts, wanted)
    assert None not in assert_as_reference([msgspec.json.format(text, indent=2) for text in texts], wanted)
    assert None not in assert_as_reference([json.dumps(json.loads(text)).encode() for text in texts], wanted)


def test_most_of_what_python_writes_is_not_odd():
    chance = random.Random(3)
    values = [
        lambda: chance.uniform(-180, 180),
        lambda: chance.gauss(0, 1e-5),
        lambda: "Zürich 😀",
        list,
        lambda: True,
    ]
    texts = [
        json.dumps({key: chance.choice(values)() for key in "abcdef"}, ensure_ascii=False).encode()
        for _ in range(2000)
    ]
    assert None not in assert_as_reference(texts, {(key,): (place, False) for place, key in enumerate("abc")})


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"\xef\xbb\xbf1",
        b"1 2",
        b"[1,]",
        b'{"a":1,}',
        b'{"a":1',
        b'{"a":1}}',
        b"nul",
        b"truE",
        b"NaN",
        b"01",
        b"1.",
        b"-",
        b"1e",
        b"[1e400]",
        b'"\t"',
        b'"\x00"',
        b'"\xff"',
        b'"\xc0\x80"',
        b'"\xed\xa0\x80"',
        b'"\xf4\x90\x80\x80"',
        b'"\xe2\x82"',
        rb'"\ud800"',
        rb'["\udc00"]',
        rb'["\udc00\udc00"]',
        rb'["\ud83d\u0041"]',
        rb'["\x41"]',
        rb'["\u12g4"]',
        b'"abc',
        b'"abc\\',
        b"[" * 101 + b"]" * 101,
        b'{"x":' * 101 + b"1" + b"}" * 101,
        b"[" + b"9" * 5000 + b"]",
        b'{"b":{"c":1},"b":2}',
        b'{"b":{"c":1,"c":1}}',
        rb'{"b":"\n\ud800"}',
        rb'{"\u0062":1}',
        b'{"b":9223372036854775808}',
        b'{"b":1e400}',
    ],
)
def test_what_is_odd(text):
    assert scanned([text], {("b",): (0, False), ("b", "c"): (1, False)}) == [None]


@pytest.mark.parametrize(
    "text",
    [
        rb'{"x":"\n\u00e9\ud83d\ude00\/"}',
        rb'{"x":{"\u0062":1}}',
        b'{"x":1,"x":2}',
        b'{"x":9223372036854775808123456789,"y":1e99,"z":1e-400}',
        b'{"x":' + b"[" * 50 + b"]" * 50 + b"}",
        b'{"b":{"d":{"c":1,"c":1}}}',
        b'{"b":1234567890.12345678901234567890}',
        b'{"b":0.00000000000000000000012345678901234567}',
        b'{"b":-0}',
        b'{"b":-0.0e99}',
        rb'{"b":"\n"}',
        rb'{"b":"\b\f\n\r\t\"\\\/"}',
        rb'{"b":"K\u00e4se \u0000\u007f\u0080\u07FF\u0800\uffff \ud800\udc00\uDBFF\uDFFF."}',
        '{"b":"ÿ€😀","é":"Ж"}'.encode(),
    ],
)
def test_what_is_not_odd(text):
    assert None not in assert_as_reference([text], {("b",): (0, False), ("b", "c"): (1, False)})


def test_escapes_in_elements_and_keys():
    texts = [
        rb'{"b":["\u00e9","a\n",["\n"],{"\n":1},"plain","\ud83d\ude00"]}',
        rb'{"b":{"\u00e9":1,"a\n":2,"c":3}}',
        b'{"b":"x"}',
    ]
    assert None not in assert_as_reference(texts, {("b",): (0, True)})


@pytest.mark.parametrize("level", [0, 1, 5, 37, 38, 39, 40, 41, 60, 98])
def test_documents_as_deep_as_the_reference_takes(level):
    wanted = {("a",) * level: (0, True), ("a",) * (level // 2): (1, False)}
    texts = []
    for deep in (*range(1, 6), *range(55, 65), *range(98 - level, 104 - level)):
        for core in (b"1", b'{"b":2}', b"[]"):
            for opening, closing in ((b"[", b"]"), (b'{"x":', b"}"), (b'[1,{"y":[', b"]}]")):
                inner = opening * deep + core + closing * deep
                texts.append(b'{"a":' * level + inner + b"}" * level)
    found = assert_as_reference(texts, wanted)
    assert any(cells is not None for cells in found) == (level < 40)


def test_where_a_map_is_missing_presence_is_unknown():
    wanted = {("a", "b"): (0, False), ("a",): (1, False)}
    assert scanned([b"{}", b'{"a":{}}', b'{"a":[]}', b'{"a":{"b":true}}', b"[]"], wanted) == [
        {("a",): (ABSENT,), ("a", "b"): (NOWHERE,)},
        {("a",): (MAP,), ("a", "b"): (ABSENT,)},
        {("a",): (LIST,), ("a", "b"): (NOWHERE,)},
        {("a",): (MAP,), ("a", "b"): (TRUE,)},
        {("a",): (NOWHERE,), ("a", "b"): (NOWHERE,)},
    ]


def test_elements_grow_and_resume():
    texts = [b'{"odd":1e400}'] + [
        msgspec.json.encode(
            {"a": list(range(size)), "b": {str(key): [key] for key in range(size)}, "odd": ""}
        )
        for size in (0, 1, 70, 500, 3)
    ]
    wanted = {
        ("a",): (0, True),
        ("b",): (1, True),
        ("b", "1"): (2, True),
        (): (3, True),
        ("odd",): (4, False),
    }
    found = assert_as_reference(texts, wanted)
    assert [cells is None for cells in found] == [True, False, False, False, False, False]


def test_odd_documents_leave_no_elements():
    text, starts, ends = laid_out([b'{"a":[1,2,3],}', b'{"a":[4]}'])
    cells = Cells.empty(2, 1)
    assert scan(text, starts, ends, np.arange(2), PathTrie.of({("a",): (0, True)}), cells)[0].tolist() == [
        True,
        False,
    ]
    assert (cells.elements.used, cells.elements.number[0]) == (1, 4)


def test_rows_go_where_they_belong_and_forget_what_was_there():
    text, starts, ends = laid_out([b'{"a":[1]}', b'{"a":"x"}', b"{"])
    trie = PathTrie.of({("a",): (1, True)})
    cells = Cells.empty(5, 3)
    cells.kind[:] = STRING
    assert scan(text, starts, ends, np.array([3, 0, 4]), trie, cells)[0].tolist() == [False, False, True]
    assert cells.kind[:, 1].tolist() == [STRING, STRING, STRING, LIST, NOWHERE]
    assert (cells.kind[:, [0, 2]] == STRING).all()
    scan(text, starts[:1], ends[:1], np.array([1]), trie, cells)
    assert (cells.start[[3, 1], 1].tolist(), cells.elements.used) == ([0, 1], 2)


@pytest.mark.parametrize(("start", "end", "row"), [(-1, 2, 0), (0, 3, 0), (2, 1, 0), (0, 2, 1), (0, 2, -1)])
def test_what_lies_outside_is_refused(start, end, row):
    with pytest.raises(IndexError, match="document 0"):
        scan(
            np.frombuffer(b"[]", np.uint8),
            np.array([start]),
            np.array([end]),
            np.array([row]),
            PathTrie.of({(): (0, False)}),
            Cells.empty(1, 1),
        )


def test_columns_and_rows_must_fit():
    text, starts, ends = laid_out([b"[]", b"{}"])
    trie = PathTrie.of({("a",): (2, False)})
    with pytest.raises(IndexError, match="3 columns"):
        scan(text, starts, ends, np.arange(2), trie, Cells.empty(2, 2))
    with pytest.raises(IndexError, match="1 rows"):
        scan(text, starts, ends, np.arange(1), trie, Cells.empty(2, 3))


def test_no_documents_and_nothing_wanted():
    none = np.array([], np.int64)
    assert (
        scan(np.array([], np.uint8), none, none, none, PathTrie.of({}), Cells.empty(0, 0))[0].tolist() == []
    )
    assert scanned([b"[1]", b"[1"], {}) == [{}, None]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forbids a page by the C library of Linux")
@pytest.mark.parametrize(
    "keys_of_all", [True, False]
)  # if they are wanted, what is torn is seen before the walk
def test_nothing_beyond_the_text_is_read(keys_of_all):
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    whole = np.frombuffer(memory, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    forbidden = [ctypes.c_void_p(whole.ctypes.data), ctypes.c_void_p(whole.ctypes.data + 2 * page)]
    trie = PathTrie.of({**WANTED, (): (0, keys_of_all), ("b", "a"): (11, False)})
    for each in forbidden:
        assert protect(each, page, 0) == 0
    try:
        texts = [
            *CORPUS,
            b'{"b":12',
            b'"\xe2\x82',
            b'"\\u12',
            b"[",
            b'{"a',
            b"-",
            b"1.",
            b"1e",
            b"t",
            b'{"a":{',
            b'"' + b"x" * 70,
        ]
        for document in texts:
            for size in range(len(document) + 1):
                place = whole[2 * page - size : 2 * page]
                place[:] = np.frombuffer(document[:size], np.uint8)
                cells = Cells.empty(1, 12)
                scan(place, np.array([0]), np.array([size]), np.array([0]), trie, cells)
                front = whole[page : page + size]
                front[:] = np.frombuffer(document[:size], np.uint8)
                scan(front, np.array([0]), np.array([size]), np.array([0]), trie, cells)
    finally:
        for each in forbidden:
            assert protect(each, page, 3) == 0


def test_threads_scan_side_by_side():
    texts = CORPUS * 50
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: scanned(texts, WANTED), range(8)))
    assert all(each == found[0] for each in found)


def test_many_keys_of_many_nodes_are_told_apart():
    document = {
        f"k{first}": {f"k{second}": first * 100 + second for second in range(40)} for first in range(40)
    }
    wanted = {
        (f"k{first}", f"k{second}"): (first * 40 + second, False)
        for first in range(40)
        for second in range(0, 40, 3)
    }
    (cells,) = scanned([json.dumps(document).encode()], wanted)
    assert cells == {path: (INT, int(path[0][1:]) * 100 + int(path[1][1:])) for path in wanted}

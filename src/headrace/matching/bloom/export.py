"""The Bloom filter of a channel as bytes, for a source that drops what nobody wants before sending it.

Made anew from who is subscribed now, with a seed of its own: that of the index stays secret, or events could be made
whose look-ups all take long.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.filters.backends.cel import write_cel
from headrace.filters.ir.operands import Text
from headrace.filters.upstream.bloom import ExportedBloom, Field, Header
from headrace.filters.upstream.key_hash import field_seed
from headrace.matching.index.bloom import bits_per_key, blocks_for, empty_blocks, insert_all
from headrace.matching.index.build.grams import GRAM_TAG
from headrace.matching.index.kernels.keys import hash_keys, owner_seeds
from headrace.matching.index.kernels.records import TablePointers
from headrace.matching.index.tables import (
    ELEMENT_SPACE,
    END_SPACE,
    EQUAL_SPACE,
    GRAM_SPACE,
    SPACES,
    START_SPACE,
)
from headrace.matching.machine import address_of, addresses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from headrace.filters.ir.operands import Operand
    from headrace.matching.index.level import Level
    from headrace.matching.matcher import Matcher
    from headrace.matching.scope import Channel
    from headrace.matching.settings import BloomSettings

    Numbers = npt.NDArray[Any]

__all__ = ["ExportedBloom", "export_bloom"]

_LOWER = 0xFFFFFFFF


def export_bloom(
    matcher: Matcher,
    channel: Channel | None,
    settings: BloomSettings | None = None,
    *,
    like: Header | None = None,
) -> bytes:
    """Write down what the subscriptions of a channel, and those without a scope, may match by.

    `like` another one, of its seed and size, it can be joined with that one.
    """
    level = matcher.live_level(channel)
    operands = level.legend.operands
    settings = replace(settings or matcher.bloom, initial_capacity=1)
    seed = new_seed() if like is None else int(like.seed, 16)
    names = {operand: write_cel(operand) for operand in operands}
    keys = _access_keys(level)
    hashes = _hashes(level, keys, [field_seed(names[each], seed) for each in operands])
    if like is None:
        blocks, bits = int(blocks_for(np.array([len(hashes)]), settings)[0]), bits_per_key(settings)
    else:
        blocks, bits = like.blocks, like.bits
    words = empty_blocks(blocks)
    insert_all(address_of(words, "words"), 0, blocks, hashes, bits)
    header = Header(
        channel=channel,
        seed=f"{seed:016x}",
        fields=tuple(_fields(level, keys, operands, names)),
        keys=len(hashes),
        fp_rate=settings.fp_rate,
        bits=bits,
        blocks=blocks,
        bypass=bool(_is_visited(level, level.tables.group_list).any()),
    )
    return ExportedBloom(header, words.astype("<u8").tobytes()).to_bytes()


def _access_keys(level: Level) -> Numbers:
    """Return the keys that alternatives are filed under: those with a list, and grams, whose texts have lists."""
    posts = level.tables.keys[:, 1]
    filed = (posts & _LOWER) < (posts >> 32)
    filed[level.tables.gram_first[0] :] = True
    return np.flatnonzero(filed)


def new_seed() -> int:
    """Return a seed that nobody can guess."""
    return secrets.randbits(64)


def _hashes(level: Level, keys: Numbers, seeds: list[int]) -> npt.NDArray[np.uint64]:
    hashes = np.empty(len(keys), np.uint64)
    there = addresses(TablePointers, level.tables)
    hash_keys(address_of(there), keys, owner_seeds(np.array(seeds, np.uint64)), hashes)
    return np.unique(hashes)


def _is_visited(level: Level, lists: Numbers) -> npt.NDArray[np.bool_]:
    """Say of lists, of which -1 is none, whether anything is in them."""
    at = level.tables.list_at
    return np.asarray((lists >= 0) & (at[lists] < at[lists + 1]))


def _fields(
    level: Level, keys: Numbers, operands: Sequence[Operand], names: Mapping[Operand, str]
) -> list[Field]:
    """Return one field per operand that anything is filed under, whichever channels ask about it."""
    used: dict[Operand, dict[int, set[int]]] = {}
    for slot, space, size in _asked(level.tables.keys[keys, 0]):
        used.setdefault(operands[slot], {}).setdefault(space, set()).add(size)
    present: dict[Operand, set[Any]] = {}
    for slot, operand in enumerate(operands):
        for what in _presence(level, slot):
            present.setdefault(operand, set()).add(what)
    return [
        _field(operand, name, used.get(operand, {}), present.get(operand, set()))
        for operand, name in names.items()
        if operand in used or operand in present
    ]


def _asked(owners_and_tags: Numbers) -> list[tuple[int, int, int]]:
    """Return slots and spaces of keys, each once, and where lengths matter, each length; otherwise that is 0."""
    space = (owners_and_tags & _LOWER) % SPACES
    by_length = np.isin(space, (START_SPACE, END_SPACE, GRAM_SPACE))
    distinct = np.unique(np.where(by_length, owners_and_tags, owners_and_tags & _LOWER))
    return [(*divmod(each & _LOWER, SPACES), each >> 32) for each in distinct.tolist()]


def _presence(level: Level, slot: int) -> list[str]:
    integers, doubles, texts = level.tables.slot_tree[slot].tolist()
    found = {
        "anything": _is_visited(level, level.tables.slot_list[slot : slot + 1])[0],
        "number": integers >= 0 or doubles >= 0,
        "text": texts >= 0 or level.has_patterns(slot),
    }
    return [what for what, holds in found.items() if holds]


def _field(operand: Operand, name: str, used: Mapping[int, set[int]], present: set[Any]) -> Field:
    is_text = isinstance(operand, Text)
    return Field(
        name=name,
        path=operand.path.steps if isinstance(operand, Text) else operand.steps,
        text=is_text,
        equal=EQUAL_SPACE in used,
        elements=ELEMENT_SPACE in used,
        starts=tuple(sorted(used.get(START_SPACE, ()))),
        ends=tuple(sorted(used.get(END_SPACE, ()))),
        grams=tuple(sorted(-tag - GRAM_TAG for tag in used.get(GRAM_SPACE, ()))),
        present=tuple(sorted(present)),
    )

"""From a draft to the tables: every alternative filed under one check, every constant in one hash table."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.filters.backends.cel import write_cel
from headrace.matching.index.bloom import bits_per_key, blocks_for, empty_blocks
from headrace.matching.index.build.check_groups import questions_of
from headrace.matching.index.build.columns import columns_of
from headrace.matching.index.build.grams import GRAM_TAG
from headrace.matching.index.build.layout import lay_out
from headrace.matching.index.build.lists import file_alternatives
from headrace.matching.index.build.ragged import picked, indices
from headrace.matching.index.build.source import HIGH, LOW
from headrace.matching.index.kernels.hashes import hash_of
from headrace.matching.index.kernels.keys import INLINE, fill, owner_seeds
from headrace.matching.index.kernels.records import TablePointers
from headrace.matching.index.tables import (
    ELEMENT_SPACE,
    END_SPACE,
    EQUAL_SPACE,
    GRAM_SPACE,
    SPACES,
    START_SPACE,
    Tables,
)
from headrace.matching.machine import address_of, addresses
from headrace.matching.rules.checks import ENDS, EQUAL, INCLUDES, STARTS, STRING_KEY

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.filters.ir.operands import Operand
    from headrace.matching.index.build.check_groups import Questions
    from headrace.matching.index.build.columns import Columns
    from headrace.matching.index.build.grams import Grams
    from headrace.matching.index.build.lists import Filing
    from headrace.matching.index.build.source import Draft
    from headrace.matching.scope import Channel
    from headrace.matching.settings import BloomSettings

    Numbers = npt.NDArray[Any]

_LOWER = 0xFFFFFFFF
_SEEDS = 4096
_SPACE_OF = {EQUAL: EQUAL_SPACE, STARTS: START_SPACE, ENDS: END_SPACE, INCLUDES: ELEMENT_SPACE}


def build(
    draft: Draft,
    channels: list[Channel | None],
    operands: list[Operand],
    seed: int,
    bloom: BloomSettings,
) -> tuple[Tables, Questions, Numbers]:
    """Build the tables of a draft. Returns with them the questions, and slots, patterns and lists of patterns."""
    questions = questions_of(draft)
    filing = file_alternatives(draft, questions)
    columns = columns_of(questions)
    laid_out = lay_out(draft, questions, filing, columns)
    tables = Tables(
        text=draft.text,
        text_at=draft.text_at,
        **_key_tables(draft, questions, filing, laid_out["list_at"], bloom),
        **_slot_tables(questions, filing, columns),
        seed=owner_seeds(_slot_seeds(questions, channels, operands, seed)),
        **_gram_tables(filing),
        **_tree_tables(filing),
        **laid_out,
    )
    slot_group = questions.slot_group.astype(np.int32)
    t = addresses(TablePointers, tables)
    fill(address_of(t), len(tables.keys), len(tables.cells) - 1, slot_group)
    for array in tables:
        array.flags.writeable = False
    return tables, questions, filing.patterns


def _key_tables(
    draft: Draft, questions: Questions, filing: Filing, list_at: Numbers, bloom: BloomSettings
) -> dict[str, Numbers]:
    """Return the keys with their lists, and the hash table and the Bloom filters, still empty."""
    keys = np.concatenate((_keys(draft, questions), _gram_keys(filing.grams)))
    keys[:, 1] = list_at[: len(keys)] | list_at[1 : len(keys) + 1] << 32
    groups = questions.slot_group[(keys[:, 0] & _LOWER) // SPACES]
    blocks = blocks_for(np.bincount(groups, minlength=len(questions.groups)), bloom)
    bloom_at = np.concatenate(([0], np.cumsum(blocks))).astype(np.int64)
    return {
        "cells": np.full(1 << max(3, (2 * len(keys)).bit_length()), -1, np.int64),
        "keys": keys,
        "bloom": empty_blocks(int(bloom_at[-1])),
        "bloom_at": bloom_at,
        "bloom_bits": np.array([bits_per_key(bloom)], np.int32),
    }


def _slot_tables(questions: Questions, filing: Filing, columns: Columns) -> dict[str, Numbers]:
    groups = np.arange(len(questions.groups) + 1)
    has_keys = np.zeros(questions.slots, np.uint8)
    has_keys[questions.slot[(questions.code == EQUAL) & (questions.key >= 0)]] = 1
    elements = np.zeros(questions.slots, np.uint8)
    elements[questions.slot[questions.code == INCLUDES]] = 1
    grams = _gram_lengths(questions, filing)
    return {
        "group_at": np.searchsorted(questions.slot_group, groups).astype(np.int32),
        "group_list": filing.group_list.astype(np.int32),
        "slot_has_keys": has_keys,
        "slot_list": filing.slot_list.astype(np.int32),
        "slot_elements": elements,
        "slot_visited": elements | (grams > 0) | (filing.slot_list >= 0) | (filing.slot_tree[:, 2] >= 0),
        "slot_grams": grams,
        "slot_start_at": columns.start_at,
        "start_length": columns.start_length,
        "slot_end_at": columns.end_at,
        "end_length": columns.end_length,
        "slot_tree": filing.slot_tree,
    }


def _gram_lengths(questions: Questions, filing: Filing) -> Numbers:
    lengths = np.zeros(questions.slots, np.uint8)
    np.bitwise_or.at(lengths, filing.grams.slot, (1 << filing.grams.length).astype(np.uint8))
    return lengths


def _gram_tables(filing: Filing) -> dict[str, Numbers]:
    grams = filing.grams
    return {
        "gram_at": grams.at.astype(np.int32),
        "gram_text": grams.text.astype(np.int32),
        "gram_offset": grams.offset.astype(np.int32),
        "gram_list": filing.gram_list.astype(np.int32),
        "gram_mark": grams.contained.astype(np.int32),
        "gram_first": np.array([filing.keys], np.int32),
    }


def _tree_tables(filing: Filing) -> dict[str, Numbers]:
    cuts = filing.trees.cuts
    return {
        "tree_at": np.concatenate(([0], np.cumsum([len(each) for each in cuts]))).astype(np.int64),
        "cuts": np.concatenate([*cuts, np.empty(0, np.int64)]).astype(np.int64),
        "leaf_list": np.concatenate([*filing.trees.leaf_lists, np.empty(0, np.int32)]),
        "tree_list": np.array([filing.trees.first], np.int32),
        "list_above": np.concatenate([*filing.trees.lists_above, np.empty(0, np.int32)]),
    }


def _slot_seeds(
    questions: Questions, channels: list[Channel | None], operands: list[Operand], seed: int
) -> npt.NDArray[np.uint64]:
    slots = zip(questions.slot_group.tolist(), questions.slot_operand.tolist(), strict=True)
    groups = questions.groups.tolist()
    return np.array(
        [slot_seed(channels[groups[g]], operands[operand], seed) for g, operand in slots], np.uint64
    )


@lru_cache(_SEEDS)
def slot_seed(channel: Channel | None, operand: Operand, seed: int) -> int:
    """Return what the hashes of a slot's keys start from."""
    return hash_of(slot_name(channel, operand), seed)


def slot_name(channel: Channel | None, operand: Operand) -> bytes:
    """Name a field of a channel, for hashing."""
    return f"{'/'.join(channel or ())}\0{write_cel(operand)}".encode(errors="surrogatepass")


def _keys(draft: Draft, questions: Questions) -> Numbers:
    """Lay out the keys as the hash table has them, still without their lists."""
    keyed = np.flatnonzero(questions.key >= 0)
    values = draft.values[questions.check[keyed]]
    code = questions.code[keyed]
    of_ends = (code == STARTS) | (code == ENDS)
    of_text = of_ends | (values[:, LOW] == STRING_KEY)
    texts = np.where(of_ends, values[:, LOW], values[:, HIGH])
    space = np.zeros(len(keyed), np.int64)
    for each, number in _SPACE_OF.items():
        space[code == each] = number
    start = picked(draft.text_at, np.where(of_text, texts, -1), 0)
    length = picked(draft.text_at[1:], np.where(of_text, texts, -1), 0) - start
    keys = np.zeros((len(keyed), 4), np.int64)
    keys[:, 0] = questions.slot[keyed] * SPACES + space | np.where(of_text, length, values[:, LOW]) << 32
    keys[:, 2] = np.where(of_text, start, values[:, HIGH])
    short = np.flatnonzero(of_text & (length <= INLINE))
    long = np.flatnonzero(of_text & (length > INLINE))
    keys[long, 3] = _characters(draft)[texts[long]]
    keys[short, 2] = 0
    to = indices(short * 32 + 16, short * 32 + 16 + length[short])
    keys.view(np.uint8).reshape(-1)[to] = draft.text[indices(start[short], start[short] + length[short])]
    return keys


def _characters(draft: Draft) -> Numbers:
    """Return how many characters each text has."""
    starts = np.concatenate(([0], np.cumsum((draft.text & 0xC0) != 0x80)))
    return np.diff(starts[draft.text_at])


def _gram_keys(grams: Grams) -> Numbers:
    keys = np.zeros((len(grams.slot), 4), np.int64)
    keys[:, 0] = grams.slot * SPACES + GRAM_SPACE | -(GRAM_TAG + grams.length) << 32
    keys[:, 2] = grams.value
    return keys

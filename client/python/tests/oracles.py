"""The right answers of the operators, in plain NumPy, made from a copy of the input and without corank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
KEY_TYPES = INTEGERS + FLOATS


def storage(key_type: str) -> np.dtype[Any]:
    """The NumPy dtype that holds keys of this type; bfloat16 is held as uint16."""
    return np.dtype("<u2" if key_type == "bfloat16" else key_type).newbyteorder("<")


def bits(array: Array) -> Array:
    """The elements' bits, so that NaNs compare by payload."""
    return np.ascontiguousarray(array).view(f"<u{array.dtype.itemsize}")


def comparable(keys: Array, key_type: str) -> Array:
    """Keys in a type that NumPy orders: bfloat16 is widened, which keeps its order."""
    if key_type == "bfloat16":
        return (keys.astype(np.uint32) << 16).view(np.float32)
    return keys


def argsort(keys: Array, key_type: str, descending: bool = False) -> Array:
    """The stable order, NaNs last (first when descending)."""
    order = comparable(keys, key_type)
    if not descending:
        return np.argsort(order, kind="stable")
    # Reversed, sorted stably, reversed: equal keys are back in the order of the input.
    return len(keys) - 1 - np.argsort(order[::-1], kind="stable")[::-1]


def segmented_argsort(keys: Array, offsets: Sequence[int], key_type: str, descending: bool = False) -> Array:
    """`argsort` of each segment, counted from the start of the whole array."""
    parts = [begin + argsort(keys[begin:end], key_type, descending) for begin, end in zip(offsets, offsets[1:])]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def first_of_each(order: Array, offsets: Sequence[int], limit: int) -> Array:
    """The first `limit` of each segment of an order, one segment after the other."""
    return np.concatenate([order[:0], *(order[begin:end][:limit] for begin, end in zip(offsets, offsets[1:]))])


def search(haystack: Array, needles: Array, key_type: str, side: str = "left", descending: bool = False) -> Array:
    """Positions as np.searchsorted gives them, in either direction."""
    where, what = comparable(haystack, key_type), comparable(needles, key_type)
    if not descending:
        return np.searchsorted(where, what, side="left" if side == "left" else "right")
    return len(haystack) - np.searchsorted(where[::-1], what, side="right" if side == "left" else "left")


def first_unsorted(keys: Array, key_type: str, descending: bool = False) -> int | None:
    """The first index whose key comes before the one in front of it."""
    order = argsort(keys, key_type, descending)
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys))
    ordered = comparable(keys, key_type)
    for index in range(1, len(keys)):
        equal = ordered[index] == ordered[index - 1] or (ordered[index] != ordered[index]) & (
            ordered[index - 1] != ordered[index - 1]
        )
        if rank[index] < rank[index - 1] and not equal:
            return index
    return None


def move(
    source: Array, source_offsets: Sequence[int], offsets: Sequence[int], counts: Sequence[int], into: Array
) -> Array:
    """Each interval copied by a loop."""
    out = into.copy()
    for begin, to, count in zip(source_offsets, offsets, counts):
        out[to : to + count] = source[begin : begin + count]
    return out


def load_balance(counts: Array) -> tuple[Array, Array]:
    """Objects and ranks."""
    objects = np.repeat(np.arange(len(counts)), counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return objects, np.arange(len(objects)) - starts[objects]


def groups(
    keys: Array, key_type: str, arrangement: str = "unsorted", descending: bool = False
) -> tuple[Array, Array, Array]:
    """(the positions of the keys in the order of the groups, where each group begins there, how many keys it has)."""
    order = argsort(keys, key_type, descending) if arrangement == "unsorted" else np.arange(len(keys))
    ordered = comparable(keys, key_type)[order]
    both_nan = (ordered[1:] != ordered[1:]) & (ordered[:-1] != ordered[:-1])
    is_head = np.concatenate([[True][: len(keys)], (ordered[1:] != ordered[:-1]) & ~both_nan]).astype(bool)
    starts = np.flatnonzero(is_head)
    return order, starts, np.diff(np.append(starts, len(keys)))


def _tree_sum(values: list[Any], begin: int, end: int) -> Any:
    """The sum of values[begin:end] in a binary tree over all positions: a node covers 2^k from a multiple of 2^k on."""
    height = (begin ^ (end - 1)).bit_length()
    first = begin >> height << height
    level = [values[at] if begin <= at < end else None for at in range(first, first + (1 << height))]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2])
        level = [left if right is None else right if left is None else left + right for left, right in pairs]
    return level[0]


def sums(values: Array, value_type: str, starts: Array, counts: Array, valid: Array | None = None) -> Array:
    """The sum of each group of values that lie in the order of the groups, with every bit of the contract.

    `valid`: which values are not null; None: all.
    """
    numbers = comparable(values, value_type)
    valid = np.ones(len(values), bool) if valid is None else valid
    if value_type in INTEGERS:
        dtype = np.uint64 if value_type.startswith("u") else np.int64
        exact = [
            sum(int(each) for each in numbers[at : at + count][valid[at : at + count]])
            for at, count in zip(starts, counts)
        ]
        return np.array(exact, dtype)
    with np.errstate(all="ignore"):
        wide = [number if is_valid else None for number, is_valid in zip(numbers.astype(np.float64), valid)]
        added = [_tree_sum(wide, int(at), int(at + count)) for at, count in zip(starts, counts)]
        found = np.array([-0.0 if each is None else each for each in added], np.float64)
    found[np.isnan(found)] = np.nan
    return found


def extremes(
    values: Array, value_type: str, starts: Array, counts: Array, greatest: bool, valid: Array | None = None
) -> Array:
    """The least or the greatest value of each group: +0.0 for zeros, and one NaN, all bits but the sign set.

    `valid`: which values are not null; None: all.
    """
    valid = np.ones(len(values), bool) if valid is None else valid
    found = []
    for at, count in zip(starts, counts):
        group = values[at : at + count][valid[at : at + count]]
        if len(group) > 0:
            found.append(group[argsort(group, value_type, greatest)[0]])
        elif value_type in INTEGERS:
            limits = np.iinfo(values.dtype)
            found.append(values.dtype.type(limits.min if greatest else limits.max))
        else:
            infinities = {"float16": 0xFC00, "bfloat16": 0xFF80, "float32": 0xFF800000, "float64": 0xFFF << 52}
            pattern = infinities[value_type] if greatest else (1 << 8 * values.itemsize - 1) - 1
            found.append(np.array([pattern], f"<u{values.itemsize}").view(values.dtype)[0])
    out = np.array(found, values.dtype)
    wide = comparable(out, value_type)
    if value_type not in INTEGERS:
        out[wide == 0] = 0
        bits(out)[wide != wide] = (1 << 8 * out.itemsize - 1) - 1
    return out


def random_keys(rng: np.random.Generator, key_type: str, count: int) -> Array:
    """Keys with many ties; floats with both zeros, infinities and NaNs of several payloads and signs."""
    dtype = storage(key_type)
    if key_type in INTEGERS:
        limits = np.iinfo(dtype)
        keys = rng.integers(limits.min, limits.max, count, dtype=dtype.type, endpoint=True)
        few = rng.integers(0, 4, count).astype(dtype)
        return np.where(rng.random(count) < 0.5, keys, few).astype(dtype)
    width = 8 * dtype.itemsize
    pattern = rng.integers(0, 2**width - 1, count, dtype=np.uint64, endpoint=True).astype(f"<u{dtype.itemsize}")
    exponent = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}[key_type]
    sign = 1 << (width - 1)
    special = np.array(
        [0, sign, exponent, exponent | sign, exponent | 1, exponent | 3, exponent | sign | 5, exponent | exponent >> 1],
        dtype=pattern.dtype,
    )
    pattern = np.where(rng.random(count) < 0.4, rng.choice(special, count), pattern).astype(pattern.dtype)
    return pattern.view(dtype)


def combine(left: Array, right: Array, key_type: str, operation: str, descending: bool = False) -> Array:
    """The positions, in left followed by right, of what a set operation returns."""
    order, starts, _ = groups(np.concatenate([left, right]), key_type, "unsorted", descending)
    found: list[int] = []
    for rows in np.split(order, starts)[1:]:
        ours, theirs = rows[rows < len(left)].tolist(), rows[rows >= len(left)].tolist()
        partners = min(len(ours), len(theirs))
        found += {
            "union": ours + theirs[partners:],
            "intersection": ours[:partners],
            "difference": ours[partners:],
            "symmetric_difference": ours[partners:] + theirs[partners:],
        }[operation]
    return np.array(found, np.int64)


def join(left: Array, right: Array, key_type: str, how: str) -> tuple[Array, Array]:
    """The rows of a join; -1: no partner."""
    order, starts, _ = groups(np.concatenate([left, right]), key_type, "unsorted")
    partners: dict[int, list[int]] = {}
    matched = set()
    for rows in np.split(order, starts)[1:]:
        theirs = (rows[rows >= len(left)] - len(left)).tolist()
        for row in rows[rows < len(left)].tolist():
            partners[row] = theirs
            matched.update(theirs)
    found: list[tuple[int, int]] = []
    for row in range(len(left)):
        theirs = partners[row]
        if how == "semi":
            found += [(row, -1)] if theirs else []
        elif theirs:
            found += [] if how == "anti" else [(row, other) for other in theirs]
        elif how in ("left", "full", "anti"):
            found.append((row, -1))
    if how in ("right", "full"):
        found += [(-1, row) for row in range(len(right)) if row not in matched]
    both = np.array(found, np.int32).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def compares(keys: Array, threshold: Array, key_type: str, comparison: str) -> Array:
    """Whether each key compares with the one threshold, as the name of a Comparison says."""
    order, starts, counts = groups(np.concatenate([keys, threshold]), key_type, "unsorted")
    group = np.empty(order.size, np.int64)
    group[order] = np.repeat(np.arange(starts.size), counts)
    mine, other = group[:-1], group[-1]
    name = comparison.removeprefix("COMPARISON_")
    holds = np.zeros(keys.size, bool)
    if name in ("LESS", "LESS_OR_EQUAL", "NOT_EQUAL"):
        holds |= mine < other
    if name in ("GREATER", "GREATER_OR_EQUAL", "NOT_EQUAL"):
        holds |= mine > other
    if name in ("EQUAL", "LESS_OR_EQUAL", "GREATER_OR_EQUAL"):
        holds |= mine == other
    return holds


def rank(keys: Array, key_type: str, method: str, descending: bool = False) -> Array:
    """The rank of each key, as scipy.stats.rankdata defines the methods, with all NaNs as one key."""
    order = argsort(keys, key_type, descending)
    _, starts, counts = groups(keys[order], key_type, "runs")
    each = {
        "average": starts + (counts + 1) / 2,
        "min": starts + 1,
        "max": starts + counts,
        "dense": np.arange(1, starts.size + 1),
    }
    ranks = np.arange(1, keys.size + 1) if method == "ordinal" else np.repeat(each[method], counts)
    out = np.empty(keys.size, np.float64 if method == "average" else np.int64)
    out[order] = ranks
    return out


def segmented_rank(keys: Array, segments: Sequence[int], key_type: str, method: str, descending: bool = False) -> Array:
    """The ranks of each segment by itself."""
    parts = [rank(keys[begin:end], key_type, method, descending) for begin, end in zip(segments, segments[1:])]
    return np.concatenate([rank(keys[:0], key_type, method), *parts])

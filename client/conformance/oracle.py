"""What every operator returns, in plain Python.

It is written from the contract alone and shares no code with the server, the clients or their tests. Arrays are lists
of elements, and an element is its little-endian bytes, so every bit of a key survives.
"""

from __future__ import annotations

import base64
import operator
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

MASK = 0xFFFFFFFF
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
KEYS = (*INTEGERS, *FLOATS)
WIDTHS = {
    **{name: int(name.strip("uint")) // 8 for name in INTEGERS},
    **dict.fromkeys(("float16", "bfloat16"), 2),
    "float32": 4,
    "float64": 8,
}
_FORMATS = {"float16": "<e", "float32": "<f", "float64": "<d"}


@dataclass(frozen=True)
class Array:
    """Elements of one type."""

    type: str
    items: list[bytes]
    record_bytes: int = 0

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return self.record_bytes or WIDTHS[self.type]

    @property
    def data(self) -> bytes:
        """All bytes."""
        return b"".join(self.items)

    def like(self, items: list[bytes]) -> Array:
        """Other elements of the same type."""
        return Array(self.type, items, self.record_bytes)

    def json(self) -> dict[str, Any]:
        """As a command or an answer holds it."""
        record = {"record_bytes": self.record_bytes} if self.record_bytes else {}
        return {"type": self.type, **record, "data": base64.b64encode(self.data).decode()}


def numbers(type_: str, values: Sequence[int]) -> Array:
    """An array of integers."""
    width = WIDTHS[type_]
    return Array(type_, [value.to_bytes(width, "little", signed=type_.startswith("int")) for value in values])


def int64(values: Sequence[int]) -> Array:
    """Counts or offsets."""
    return numbers("int64", values)


def records(width: int, items: Sequence[bytes]) -> Array:
    """Records of `width` bytes."""
    assert all(len(item) == width for item in items)
    return Array("record", list(items), width)


def mix(word: int) -> int:
    """The mixing function of the generator "hash"."""
    word &= MASK
    word ^= word >> 16
    word = word * 0x85EBCA6B & MASK
    word ^= word >> 13
    word = word * 0xC2B2AE35 & MASK
    return word ^ word >> 16


def value_of(type_: str, item: bytes) -> float | int:
    """The number that an element means."""
    if type_ in INTEGERS:
        return int.from_bytes(item, "little", signed=type_.startswith("int"))
    found: float
    (found,) = struct.unpack("<f", b"\0\0" + item) if type_ == "bfloat16" else struct.unpack(_FORMATS[type_], item)
    return found


def rank(type_: str, item: bytes, descending: bool) -> tuple[bool, float | int]:
    """A key that orders as the contract says: NaNs are equal, last when ascending, first when descending."""
    value = value_of(type_, item)
    is_nan = value != value
    if descending:
        return not is_nan, 0 if is_nan else -value
    return is_nan, 0 if is_nan else value


def argsort(keys: Array, descending: bool = False) -> list[int]:
    """The stable permutation; Python's sort is stable."""
    return sorted(range(len(keys.items)), key=lambda at: rank(keys.type, keys.items[at], descending))


def segmented(keys: Array, offsets: Sequence[int], descending: bool, limit: int | None = None) -> list[int]:
    """The stable permutation of each segment, or the first `limit` of each, in positions of the whole array."""
    order: list[int] = []
    for begin, end in pairwise(offsets):
        order += [begin + at for at in argsort(keys.like(keys.items[begin:end]), descending)[:limit]]
    return order


def take(array: Array, order: Sequence[int]) -> Array:
    """The elements at these positions."""
    return array.like([array.items[at] for at in order])


def joined(arrays: Sequence[Array]) -> Array:
    """One array after the other. Its stable sort is their merge."""
    return arrays[0].like([item for array in arrays for item in array.items])


def search(haystack: Array, needles: Array, upper: bool, descending: bool) -> list[int]:
    """How many keys of the haystack come before each needle, or not after it."""
    ranks = [rank(haystack.type, item, descending) for item in haystack.items]
    found = []
    for item in needles.items:
        needle = rank(needles.type, item, descending)
        found.append(sum(key <= needle if upper else key < needle for key in ranks))
    return found


def expand(values: Array, counts: Sequence[int]) -> Array:
    """Each value as often as its count says."""
    return values.like([item for item, count in zip(values.items, counts, strict=True) for _ in range(count)])


def move(
    source: Array, source_offsets: Sequence[int], offsets: Sequence[int], counts: Sequence[int], into: list[bytes]
) -> Array:
    """The destination after every interval was copied."""
    result = list(into)
    for begin, goal, count in zip(source_offsets, offsets, counts, strict=True):
        for step in range(count):
            result[goal + step] = source.items[begin + step]
    return source.like(result)


def starts(counts: Sequence[int]) -> list[int]:
    """Where each interval begins in a dense array."""
    return [sum(counts[:at]) for at in range(len(counts))]


def load_balance(counts: Sequence[int]) -> tuple[list[int], list[int]]:
    """The object of each item, and the item's rank there."""
    items = [(thing, at) for thing, count in enumerate(counts) for at in range(count)]
    return [thing for thing, _ in items], [at for _, at in items]


def groups(keys: Array, order: Sequence[int]) -> list[list[int]]:
    """The positions of each group: of the runs of equal keys, when the keys are taken in this order."""
    found: list[list[int]] = []
    for at in order:
        here = rank(keys.type, keys.items[at], False)
        if found and here == rank(keys.type, keys.items[found[-1][0]], False):
            found[-1].append(at)
        else:
            found.append([at])
    return found


def combine(left: Array, right: Array, operation: str, descending: bool) -> list[int]:
    """The elements of a set operation, as positions in both sides joined: class by class of equal keys."""
    classes: dict[tuple[bool, float | int], tuple[list[int], list[int]]] = {}
    for side, keys in enumerate((left, right)):
        for at, item in enumerate(keys.items):
            members = classes.setdefault(rank(keys.type, item, descending), ([], []))
            members[side].append(side * len(left.items) + at)
    found: list[int] = []
    for _, (own, other) in sorted(classes.items()):
        partners = min(len(own), len(other))
        found += {
            "union": own + other[partners:],
            "intersection": own[:partners],
            "difference": own[partners:],
            "symmetric_difference": own[partners:] + other[partners:],
        }[operation]
    return found


def join(left: Array, right: Array, kind: str) -> list[tuple[int, int]]:
    """The rows of a join, as pairs of row numbers; -1: no partner, or a row of the left alone."""
    classes: dict[tuple[bool, float | int], list[int]] = {}
    for at, item in enumerate(right.items):
        classes.setdefault(rank(right.type, item, False), []).append(at)
    found: list[tuple[int, int]] = []
    alone = set(range(len(right.items)))
    for at, item in enumerate(left.items):
        partners = classes.get(rank(left.type, item, False), [])
        alone.difference_update(partners)
        if kind in ("semi", "anti"):
            found += [(at, -1)] if bool(partners) == (kind == "semi") else []
        elif partners:
            found += [(at, partner) for partner in partners]
        elif kind in ("left", "full"):
            found.append((at, -1))
    if kind in ("right", "full"):
        found += [(-1, at) for at in sorted(alone)]
    return found


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "less": operator.lt,
    "equal": operator.eq,
    "less_or_equal": operator.le,
    "greater": operator.gt,
    "not_equal": operator.ne,
    "greater_or_equal": operator.ge,
}


def compared(elements: Array, comparison: str, threshold: bytes) -> list[bool]:
    """Whether each element compares with the threshold so, in the order of the contract."""
    bound = rank(elements.type, threshold, False)
    return [COMPARISONS[comparison](rank(elements.type, item, False), bound) for item in elements.items]


def parted(selected: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Returns the positions of the selected elements and the positions of the others."""
    every = range(len(selected))
    return [at for at in every if selected[at]], [at for at in every if not selected[at]]


def insert(elements: Array, positions: Sequence[int], inserted: Array) -> Array:
    """Each inserted element before the element at its position, in their order."""
    found = []
    for at in range(len(elements.items) + 1):
        found += [item for item, position in zip(inserted.items, positions, strict=True) if position == at]
        found += elements.items[at : at + 1]
    return elements.like(found)


def ranks(keys: Array, method: str, descending: bool) -> Array:
    """The rank of each key, from 1: a float64 for the average, otherwise a uint32."""
    order = argsort(keys, descending)
    found: dict[int, float] = {}
    for nth, members in enumerate(groups(keys, order), 1):
        first = len(found) + 1
        last = first + len(members) - 1
        for place, at in enumerate(members, first):
            found[at] = {
                "average": (first + last) / 2,
                "min": first,
                "max": last,
                "dense": nth,
                "ordinal": place,
            }[method]
    told = [found[at] for at in range(len(keys.items))]
    if method == "average":
        return Array("float64", [struct.pack("<d", each) for each in told])
    return numbers("uint32", [int(each) for each in told])


def sums(values: Array, members: Sequence[Sequence[int]]) -> Array:
    """The sum of the values of each group, in 64 bits."""
    totals = [[value_of(values.type, values.items[at]) for at in group] for group in members]
    if values.type in INTEGERS:
        return numbers("int64" if values.type.startswith("int") else "uint64", [int(sum(each)) for each in totals])
    return Array("float64", [_float_sum(each) for each in totals])


def _float_sum(values: Sequence[float]) -> bytes:
    total = -0.0
    for value in values:
        total += value
    if total != total:
        return struct.pack("<Q", 0x7FF8 << 48)  # processors make different NaNs, so every engine answers this one
    finite = [Fraction(value) for value in values if abs(value) != float("inf")]
    unit = max((each.denominator for each in finite), default=1)
    assert sum(map(abs, finite)) * unit <= 1 << 53, "the sum depends on the order of the additions"
    return struct.pack("<d", total)


def extremes(values: Array, members: Sequence[Sequence[int]], greatest: bool) -> Array:
    """The least or the greatest value of each group, with one bit pattern for all zeros and one for all NaNs."""
    found = []
    for group in members:
        if not group:
            found.append(_extreme_of_nothing(values, greatest))
            continue
        chosen = (max if greatest else min)(group, key=lambda at: rank(values.type, values.items[at], False))
        item, value = values.items[chosen], value_of(values.type, values.items[chosen])
        if value != value:
            item = bytes([0xFF] * (values.width - 1) + [0x7F])
        found.append(bytes(values.width) if value == 0 else item)
    return values.like(found)


def _extreme_of_nothing(values: Array, greatest: bool) -> bytes:
    """The end of the type: the greatest for minima. Of floats, a NaN is the greatest, and -infinity the least."""
    top = 0x80 << 8 * (values.width - 1)
    if values.type in INTEGERS:
        bits = (2 * top - 1 if not greatest else 0) ^ (top if values.type.startswith("int") else 0)
    else:
        infinities = {"float16": 0xFC00, "bfloat16": 0xFF80, "float32": 0xFF80 << 16, "float64": 0xFFF0 << 48}
        bits = infinities[values.type] if greatest else top - 1
    return bits.to_bytes(values.width, "little")


@dataclass(frozen=True)
class Column:
    """A column of a key: numbers, records, or strings if `strings` is set. Rows that are not `valid` are null."""

    array: Array
    descending: bool = False
    strings: list[bytes] | None = None
    valid: list[bool] | None = None
    nulls: str = "last"
    nans: str = "greatest"

    def rank(self, row: int) -> Any:
        """A key that orders the rows ascending."""
        if self.strings is not None:
            return self.strings[row]
        item = self.array.items[row]
        return item if self.array.record_bytes else rank(self.array.type, item, False)

    def group(self, row: int) -> str:
        """Whether a row is one of the values, the nulls, or the NaNs that lie beside these."""
        if self.valid is not None and not self.valid[row]:
            return "nulls"
        if self.strings is not None or self.array.type not in FLOATS or self.nans == "greatest":
            return "values"
        number = value_of(self.array.type, self.array.items[row])
        return "values" if number == number else "nulls" if self.nans == "as_nulls" else "nans"

    def differs(self, row: int, other: int) -> bool:
        """Whether two rows are not equal as keys."""
        group = self.group(row)
        return group != self.group(other) or (group == "values" and self.rank(row) != self.rank(other))

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.strings) if self.strings is not None else len(self.array.items)

    def taken(self, order: Sequence[int]) -> Column:
        """The rows at these positions."""
        valid = None if self.valid is None else [self.valid[at] for at in order]
        if self.strings is not None:
            return replace(strings([self.strings[at] for at in order], self.descending), valid=valid)
        return Column(take(self.array, order), self.descending, valid=valid)

    def json(self, with_order: bool) -> dict[str, Any]:
        """As a command (with the order) or an answer holds it."""
        found: dict[str, Any] = {"data": self.array.json()}
        if self.strings is not None:
            lengths = [len(string) for string in self.strings]
            found["offsets"] = int64([*starts(lengths), sum(lengths)]).json()
        if self.valid is not None:
            found["validity"] = bitmap(self.valid).json()
        if with_order and self.descending:
            found["order"] = "descending"
        if with_order and self.nulls != "last":
            found["nulls"] = self.nulls
        if with_order and self.nans != "greatest":
            found["nans"] = self.nans
        return found


def bitmap(bits: Sequence[bool]) -> Array:
    """The bits in bytes, the least significant one first."""
    made = [sum(1 << at for at, bit in enumerate(bits[first : first + 8]) if bit) for first in range(0, len(bits), 8)]
    return numbers("uint8", made)


def strings(items: Sequence[bytes], descending: bool = False) -> Column:
    """A column of byte strings of any length."""
    data = b"".join(items)
    return Column(Array("uint8", [bytes([byte]) for byte in data]), descending, list(items))


def argsort_columns(columns: Sequence[Column]) -> list[int]:
    """The stable permutation of the rows: sorts by the last column first, because each pass is stable."""
    order = list(range(columns[0].rows))
    for column in reversed(columns):
        groups: dict[str, list[int]] = {"values": [], "nans": [], "nulls": []}
        for row in order:
            groups[column.group(row)].append(row)
        groups["values"].sort(key=column.rank, reverse=column.descending)  # `reverse` keeps equal rows in their order
        places = list(groups.values())
        order = [row for place in (places if column.nulls == "last" else places[::-1]) for row in place]
    return order


def rank_columns(columns: Sequence[Column]) -> list[int]:
    """How many distinct rows come before each row in the order."""
    order = argsort_columns(columns)
    ranks = [1] * len(order)
    for before, row in pairwise(order):
        ranks[row] = ranks[before] + any(column.differs(before, row) for column in columns)
    return ranks

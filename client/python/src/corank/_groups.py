"""Groups of equal keys: their counts, first positions, and the sums, minima and maxima of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from corank import _conversion as conversion
from corank._elements import TYPES, Input, flag
from corank._elements import index_dtype as server_index_dtype
from corank._errors import InvalidArgument
from corank._options import CallOptions, choice
from corank._results import Groups
from corank._task import A, Operators, Output, Task, one
from corank._wire import Part
from corank.v1 import group_pb2 as groups
from corank.v1 import operators_pb2 as operators

if TYPE_CHECKING:
    from typing_extensions import Unpack

GroupArrangement = Literal["unsorted", "sorted", "runs"]
GroupResult = Literal["keys", "counts", "firsts", "sums", "minima", "maxima", "value_counts"]
_ARRANGEMENTS = {
    "unsorted": groups.GROUP_INPUT_UNSORTED,
    "sorted": groups.GROUP_INPUT_SORTED,
    "runs": groups.GROUP_INPUT_RUNS,
}
_RESULTS = {name: groups.GroupOutput.Value(f"GROUP_OUTPUT_{name.upper()}") for name in Groups._fields}
_OF_VALUES = ("sums", "minima", "maxima", "value_counts")


def _sum_dtype(value_type: int) -> np.dtype[Any]:
    """The dtype of sums of values of this ELEMENT_TYPE."""
    (name,) = (name for name, number in TYPES.items() if number == value_type)
    return np.dtype("<f8" if "float" in name else "<u8" if name.startswith("u") else "<i8")


class _Grouping:
    """A Group request and its arrays."""

    def __init__(
        self, keys: Input, arrangement: str, descending: bool, dtype: DTypeLike | None, names: Sequence[str]
    ) -> None:
        self.names = tuple(names)
        outputs = [choice("results", name, _RESULTS) for name in self.names]
        if not outputs:
            raise InvalidArgument(f"results: is empty; name some of {', '.join(_RESULTS)}", field="results")
        if len(set(outputs)) < len(outputs):
            raise InvalidArgument(f"results: a name is there twice in {self.names}", field="results")
        found = conversion.keys("keys", keys, dtype)
        self.request = groups.GroupRequest(input=choice("arrangement", arrangement, _ARRANGEMENTS), outputs=outputs)
        if flag("descending", descending):
            self.request.order = operators.SORT_ORDER_DESCENDING
        self.parts: list[Part] = [found.part]
        int64 = (np.dtype("<i8"), 0)
        self._types = {"keys": (found.dtype, found.part.header.type), "counts": int64, "value_counts": int64}
        self._shifted = {"keys"} if found.is_shifted else set()
        self._most = found.part.most

    def add_values(self, values: Input, dtype: DTypeLike | None, validity: Input | None) -> None:
        """Adds the values to reduce, and the bitmap that marks those which are not null.

        Raises:
            TypeError: they have no order, or are dates or times to add up.
        """
        found = conversion.keys("values", values, dtype)
        if found.dtype.kind in "mM" and "sums" in self.names:
            raise TypeError("values: dates and times have no sum; pass values.view(np.int64)")
        self.parts.append(found.part)
        if validity is not None:
            self.parts.append(conversion.keys("values_validity", validity).part)
        value_type = found.part.header.type
        self._types["sums"] = (_sum_dtype(value_type), 0)
        self._types["minima"] = self._types["maxima"] = (found.dtype, value_type)
        if found.is_shifted:
            self._shifted |= {"minima", "maxima"}

    def task(self, index_dtype: DTypeLike | None, tupled: bool) -> Task:
        """The call; its result is a Groups, or, if not `tupled`, what `results` names, in that order."""
        greatest = None if self._most is None else self._most - 1
        self._types["firsts"] = (server_index_dtype(greatest or 0), 0)
        outputs = []
        for name in self.names:
            dtype, element_type = self._types[name]
            is_index = name == "firsts"
            wanted = np.dtype(index_dtype) if is_index and index_dtype is not None else None
            outputs.append(
                Output(
                    name,
                    self.request,
                    f"{name}_destination",
                    dtype,
                    None,
                    is_index,
                    wanted,
                    greatest if is_index else None,
                    element_type,
                    most=self._most,
                )
            )
        is_shifted = any(name in self._shifted for name in self.names)
        finish = self._named if tupled else one if len(self.names) == 1 and not is_shifted else self._restored
        return Task("Group", "group", self.request, self.parts, outputs, groups.GroupResponse, finish, is_shifted)

    def _restored(self, results: Sequence[Any]) -> Any:
        found = [
            conversion.restored(result) if name in self._shifted else result
            for name, result in zip(self.names, results)
        ]
        return found[0] if len(found) == 1 else tuple(found)

    def _named(self, results: Sequence[Any]) -> Groups:
        found = self._restored(results)
        return Groups(**dict(zip(self.names, found if len(self.names) > 1 else (found,))))


class GroupOperators(Operators[A]):
    """Operators that find groups of equal keys. Only the answer tells how many there are."""

    def group(
        self,
        keys: Input,
        *,
        values: Input | None = None,
        values_validity: Input | None = None,
        results: Sequence[GroupResult] = ("keys", "counts"),
        arrangement: GroupArrangement = "unsorted",
        descending: bool = False,
        dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> Groups:
        """Finds the groups of equal keys, counts them, and reduces the values of each.

        All NaNs are one key, and -0.0 equals 0.0. Groups come in the order of their keys.

        Args:
            keys: shape (n,): numbers, bools, dates or times.
            values: shape (n,), one number for each key; "sums", "minima", "maxima" and "value_counts" are of these.
            values_validity: uint8 of shape (ceil(n / 8),): a bitmap as in Apache Arrow, where bit i % 8 of byte i // 8
                is 0 if value i is null; np.packbits(valid, bitorder="little") makes one. Null values take no part in
                any result.
            results: what to return: "keys", the first key of each group; "counts"; "firsts", the position of each first
                key; "sums", in 64 bits; "minima" and "maxima", where NaN is greater than every number; "value_counts",
                the number of values that are not null. Where it is 0, the sum is 0, and the minimum and maximum mean
                nothing.
            arrangement: "unsorted": keys lie in any order; "sorted": they are sorted in the direction of `descending`,
                which the server checks and need not do; "runs": each run of equal keys is a group, in the order of the
                array.
            descending: greatest first. Not with "runs".
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            value_dtype: the same for the values.
            index_dtype: integer dtype of the firsts; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions. out= and keep= have one element for each of `results`, in their order.

        Returns:
            A named tuple (keys, counts, firsts, sums, minima, maxima, value_counts), which has None for what `results`
            does not name. Sums of integers are exact int64 or uint64; sums of floats are float64.

        Raises:
            InvalidArgument: keys that must be sorted are not, or a sum of integers does not fit in 64 bits.

        Examples:
            >>> found = client.group([3, 1, 3], values=[10, 20, 30], results=["keys", "sums"])
            >>> found.keys, found.sums
            (array([1, 3]), array([20, 40]))
        """
        plan = _Grouping(keys, arrangement, descending, dtype, results)
        needs = [name for name in _OF_VALUES if name in plan.names]
        if values is not None:
            if not needs:
                raise InvalidArgument(f"values: results names none of {', '.join(_OF_VALUES)}", field="values")
            plan.add_values(values, value_dtype, values_validity)
        elif needs:
            raise InvalidArgument(f"values: missing, but results names {needs[0]!r}", field="values")
        elif values_validity is not None:
            raise InvalidArgument("values_validity: there are no values", field="values_validity")
        found: Groups = self._perform(plan.task(index_dtype, tupled=True), options)
        return found

    def unique(
        self,
        keys: Input,
        *,
        descending: bool = False,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> A:
        """Finds the distinct keys, like np.unique. `group` also counts them.

        Args:
            keys: shape (n,), in any order: numbers, bools, dates or times. All NaNs are one key.
            descending: greatest first.
            dtype: as for `group`.
            **options: see CallOptions.

        Returns:
            The distinct keys in order, in the dtype of `keys`.

        Examples:
            >>> client.unique([3, 1, 3])
            array([1, 3])
        """
        plan = _Grouping(keys, "unsorted", descending, dtype, ("keys",))
        return self._array(plan.task(None, tupled=False), options)

    def run_length_encode(
        self, keys: Input, *, dtype: DTypeLike | None = None, **options: Unpack[CallOptions]
    ) -> tuple[A, A]:
        """Finds the runs of equal neighbours. np.repeat(*encoded) is the array again, but for the bits of equal floats.

        Args:
            keys: shape (n,): numbers, bools, dates or times.
            dtype: as for `group`.
            **options: see CallOptions.

        Returns:
            The pair (key of each run, length of each run), in the order of the array.

        Examples:
            >>> client.run_length_encode([7, 7, 5, 7])
            (array([7, 5, 7]), array([2, 1, 1]))
        """
        plan = _Grouping(keys, "runs", False, dtype, ("keys", "counts"))
        return self._pair(plan.task(None, tupled=False), options)

"""Elements that flags, bits, positions or a comparison select, and their removal, partition and insertion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from corank import _conversion as conversion
from corank._elements import Input
from corank._errors import InvalidArgument
from corank._options import CallOptions, choice
from corank._ordered import indices_output, of_one_dtype, of_one_order, restored_one, restored_pair
from corank._sets import number
from corank._task import A, Operators, Output, Task, one, pair
from corank._wire import OutgoingArray, Part
from corank.v1 import array_pb2
from corank.v1 import operators_pb2 as operators
from corank.v1 import select_pb2 as selects

if TYPE_CHECKING:
    from typing_extensions import Unpack

Comparison = Literal["<", "<=", "==", "!=", ">=", ">"]
_COMPARISONS = {
    "<": selects.COMPARISON_LESS,
    "<=": selects.COMPARISON_LESS_OR_EQUAL,
    "==": selects.COMPARISON_EQUAL,
    "!=": selects.COMPARISON_NOT_EQUAL,
    ">=": selects.COMPARISON_GREATER_OR_EQUAL,
    ">": selects.COMPARISON_GREATER,
}


class _Selection:
    """A Select request and its arrays."""

    def __init__(self, negate: bool = False, partition: bool = False) -> None:
        self.request = selects.SelectRequest(negate=negate, partition=partition)
        self.parts: list[Part] = []
        self.outputs: list[Output] = []
        self.is_shifted = False

    def add_elements(
        self,
        elements: Input,
        flags: Input | None,
        bitmap: Input | None,
        positions: Input | None,
        comparison: str | None,
        threshold: Any,
        dtype: DTypeLike | None,
    ) -> None:
        """Adds the elements, and what selects them.

        Raises:
            InvalidArgument: not exactly one thing selects them.
            TypeError: it is of a wrong dtype.
        """
        if sum(each is not None for each in (flags, bitmap, positions, threshold)) != 1:
            raise InvalidArgument("flags: give exactly one of flags, bitmap=, positions= and threshold=", field="flags")
        if (comparison is None) != (threshold is None):
            raise InvalidArgument("comparison: goes with threshold=", field="comparison")
        if comparison is not None:
            self._compare(elements, comparison, threshold, dtype)
            return
        if dtype is not None:
            raise TypeError("dtype: is for threshold=; elements of other selections are only moved")
        part, self.dtype = conversion.values("elements", elements)
        self._add_elements(part)
        for name, array in (("flags", flags), ("bitmap", bitmap)):
            if array is not None:
                self.parts.append(_flags(name, array))
        if positions is not None:
            self.parts.append(conversion.integers("positions", _from_start(positions, part.length)))

    def _compare(self, elements: Input, comparison: str, threshold: Any, dtype: DTypeLike | None) -> None:
        self.request.comparison = choice("comparison", comparison, _COMPARISONS)
        own = conversion.keys("elements", elements, dtype).dtype
        given = np.array([threshold]) if conversion.is_scalar(threshold) else threshold
        found = of_one_order(
            [("elements", elements, dtype), ("threshold", conversion.like("threshold", given, own), dtype)]
        )
        of_one_dtype(("elements", "threshold"), [each.dtype for each in found])
        self.dtype, self.is_shifted = own, found[0].is_shifted
        self._add_elements(found[0].part)
        self.parts.append(found[1].part)

    def _add_elements(self, part: OutgoingArray) -> None:
        self._part = part
        self.parts.append(part)

    def add(self, name: str, dtype: np.dtype[Any], element_type: int = 0) -> None:
        """Adds a result with an element for each selected one."""
        is_whole = self.request.partition
        self.outputs.append(
            Output(
                name,
                self.request,
                f"{name}_destination",
                dtype,
                self._part.length if is_whole else None,
                element_type=element_type,
                most=self._part.most,
            )
        )

    def want_elements(self, values: Input | None) -> None:
        """Adds the elements, and the values if there are any."""
        self.request.outputs.append(selects.SELECT_OUTPUT_ELEMENTS)
        self.add("elements", self.dtype, self._part.header.type)
        if values is not None:
            part, dtype = conversion.values("values", values)
            self.parts.append(part)
            self.add("values", dtype, part.header.type)

    def want_indices(self, index_dtype: DTypeLike | None) -> None:
        """Adds the positions of the elements."""
        self.request.outputs.append(selects.SELECT_OUTPUT_INDICES)
        most = self._part.most
        greatest = None if most is None else most - 1
        self.outputs.append(
            indices_output("indices", self.request, "indices_destination", None, greatest, index_dtype, most)
        )

    def want_count(self) -> None:
        """Adds the number of selected elements."""
        self.request.outputs.append(selects.SELECT_OUTPUT_COUNT)
        self.outputs.append(Output("count", self.request, "count_destination", np.dtype("<i8"), 1))

    def task(self, finish: Callable[[Sequence[Any]], Any]) -> Task:
        response = selects.SelectResponse
        return Task("Select", "select", self.request, self.parts, self.outputs, response, finish, self.is_shifted)

    def moved(self) -> Task:
        """The call; its result is the elements, or the pair of elements and values."""
        if len(self.outputs) == 1:
            return self.task(restored_one if self.is_shifted else one)
        return self.task(restored_pair if self.is_shifted else pair)

    def parted(self, results: Sequence[Any]) -> Any:
        """The results of a partition, with its number."""
        first = conversion.restored(results[0]) if self.is_shifted else results[0]
        return (first, *results[1:-1], number(results[-1]))


def _flags(name: str, array: Input) -> OutgoingArray:
    found = conversion.keys(name, array)
    if found.part.header.type != array_pb2.ELEMENT_TYPE_UINT8:
        raise TypeError(f"{name}: must be bools or uint8, are {found.dtype.name}")
    return found.part


def _from_start(positions: Input, count: int | None) -> Input:
    """Positions with those from the end, below 0, counted from the start."""
    if count is None or conversion.remote(positions) is not None:
        return positions
    if conversion.is_scalar(positions):
        positions = np.atleast_1d(np.asarray(positions))
    found = conversion.one_dimensional("positions", positions)
    if found.dtype.kind != "i" or not bool((found < 0).any()):
        return found
    wide = found.astype(np.int64)
    return np.where((wide < 0) & (wide >= -count), wide + count, wide)


def _insertion(count: int, positions: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The intervals of `count` elements, with the inserted ones behind them, that make up the result."""
    order = np.argsort(positions, kind="stable")
    sorted_positions = positions[order]
    begins = np.empty(2 * order.size + 1, np.int64)
    counts = np.ones_like(begins)
    begins[1::2] = count + order
    begins[0] = 0
    begins[2::2] = sorted_positions
    counts[::2] = np.diff(sorted_positions, prepend=0, append=count)
    # Joins inserted elements that follow each other, with nothing between them.
    keeps = counts > 0
    begins, counts = begins[keeps], counts[keeps]
    if not begins.size:
        return begins, counts
    heads = np.flatnonzero(np.append(True, begins[1:] != begins[:-1] + counts[:-1]))
    return begins[heads], np.add.reduceat(counts, heads)


class SelectOperators(Operators[A]):
    """Operators that select, remove, part and insert elements."""

    def select(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        bitmap: Input | None = None,
        positions: Input | None = None,
        comparison: Comparison | None = None,
        threshold: Any = None,
        values: Input | None = None,
        negate: bool = False,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> A | tuple[A, A]:
        """Selects elements by one of flags, bits, positions and a comparison, and keeps their order.

        Args:
            elements: shape (n,), of any fixed-width dtype of 1 to 256 bytes.
            flags: shape (n,), bools or uint8: an element is selected if its flag is not 0.
            bitmap: uint8, bits as np.packbits(flags, bitorder="little") packs them, in place of flags.
            positions: integers, the positions of the selected elements, in any order; an element that is there twice is
                selected once. Below 0 they count from the end, if the length of the elements is known.
            comparison: how a selected element compares with `threshold`. As in `sort`, NaN is greater than every number
                and equal to NaN.
            threshold: one number, date or time, of the dtype of the elements.
            values: shape (n,), one value for each element, which travels with it.
            negate: select the other elements.
            dtype: with `threshold`: read the elements' bits, and its own, as this type of the same width, such as
                "bfloat16" for uint16 arrays.
            **options: see CallOptions.

        Returns:
            The selected elements, or a pair (elements, values).

        Raises:
            InvalidArgument: a position is that of no element.

        Examples:
            >>> client.select([10, 20, 30], [True, False, True])
            array([10, 30])
            >>> client.select([10, 20, 30], comparison=">=", threshold=20)
            array([20, 30])
        """
        plan = _Selection(negate)
        plan.add_elements(elements, flags, bitmap, positions, comparison, threshold, dtype)
        plan.want_elements(values)
        return self._array(plan.moved(), options) if values is None else self._pair(plan.moved(), options)

    def argselect(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        bitmap: Input | None = None,
        positions: Input | None = None,
        comparison: Comparison | None = None,
        threshold: Any = None,
        negate: bool = False,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> A:
        """Finds the positions of the elements that `select` would return.

        Args:
            elements: as for `select`.
            flags: as for `select`.
            bitmap: as for `select`.
            positions: as for `select`.
            comparison: as for `select`.
            threshold: as for `select`.
            negate: as for `select`.
            dtype: as for `select`.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            The positions, in ascending order.

        Examples:
            >>> client.argselect([10, 20, 30], comparison="!=", threshold=20)
            array([0, 2])
        """
        plan = _Selection(negate)
        plan.add_elements(elements, flags, bitmap, positions, comparison, threshold, dtype)
        plan.is_shifted = False  # positions are no dates
        plan.want_indices(index_dtype)
        return self._array(plan.task(one), options)

    def partition(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        bitmap: Input | None = None,
        positions: Input | None = None,
        comparison: Comparison | None = None,
        threshold: Any = None,
        values: Input | None = None,
        negate: bool = False,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> tuple[A, int] | tuple[A, A, int]:
        """Moves the elements that `select` would return to the front. Both parts keep their order.

        Args:
            elements: as for `select`.
            flags: as for `select`.
            bitmap: as for `select`.
            positions: as for `select`.
            comparison: as for `select`.
            threshold: as for `select`.
            values: as for `select`.
            negate: as for `select`.
            dtype: as for `select`.
            **options: see CallOptions. With out= and keep=, there is one for each result, the number too.

        Returns:
            (elements, number of selected elements), or (elements, values, number).

        Examples:
            >>> client.partition([10, 20, 30], [False, True, False])
            (array([20, 10, 30]), 1)
        """
        plan = _Selection(negate, partition=True)
        plan.add_elements(elements, flags, bitmap, positions, comparison, threshold, dtype)
        plan.want_elements(values)
        plan.want_count()
        found: Any = self._perform(plan.task(plan.parted), options)
        return found  # type: ignore[no-any-return]

    def remove(
        self,
        elements: Input,
        positions: Input,
        *,
        values: Input | None = None,
        **options: Unpack[CallOptions],
    ) -> A | tuple[A, A]:
        """Removes the elements at many positions, like np.delete.

        Args:
            elements: shape (n,), of any fixed-width dtype of 1 to 256 bytes.
            positions: integers in any order, which may repeat; as for `select`.
            values: shape (n,), one value for each element, which goes or stays with it.
            **options: see CallOptions.

        Returns:
            The elements that stay, or a pair (elements, values).

        Raises:
            InvalidArgument: a position is that of no element.

        Examples:
            >>> client.remove([10, 20, 30, 40], [2, 0])
            array([20, 40])
        """
        plan = _Selection(negate=True)
        plan.add_elements(elements, None, None, positions, None, None, None)
        plan.want_elements(values)
        return self._array(plan.moved(), options) if values is None else self._pair(plan.moved(), options)

    def insert(
        self,
        elements: Input,
        positions: Input,
        inserted: Input,
        **options: Unpack[CallOptions],
    ) -> A:
        """Inserts elements before many positions at once, like np.insert. The call is a `gather`.

        Args:
            elements: shape (n,), of any fixed-width dtype of 1 to 256 bytes, in this process.
            positions: shape (m,), integers in any order: inserted[i] goes before elements[positions[i]], or behind the
                last one for n. Below 0 they count from the end.
            inserted: shape (m,), or one for all positions, of the dtype of the elements. Those for the same position
                keep their order.
            **options: see CallOptions.

        Returns:
            The elements, shape (n + m,).

        Raises:
            InvalidArgument: a position is out of range, or there are not as many as inserted elements.

        Examples:
            >>> client.insert([10, 20, 30], [3, 0, 3], [1, 2, 3])
            array([ 2, 10, 20, 30,  1,  3])
        """
        for name, array in (("elements", elements), ("positions", positions), ("inserted", inserted)):
            if conversion.remote(array) is not None:
                raise TypeError(f"{name}: must be in this process; elsewhere, use `move` and `scatter` in a chain")
        own = conversion.one_dimensional("elements", elements)
        found = conversion.one_dimensional("positions", _from_start(positions, own.size))
        if found.size and found.dtype.kind not in "iu":
            raise TypeError(f"positions: must be integers, are {found.dtype.name}")
        wrong = (found < 0) | (found > own.size)
        if bool(wrong.any()):
            at = int(np.argmax(wrong))
            raise InvalidArgument(
                f"positions[{at}]: {found[at]}, must be {-own.size} to {own.size}", field=f"positions[{at}]"
            )
        new = np.full(found.size, inserted) if conversion.is_scalar(inserted) else inserted
        more: Any = conversion.like("inserted", new, own.dtype)
        if more.size != found.size:
            raise InvalidArgument(
                f"positions: {found.size:,} for {more.size:,} inserted elements; each needs one", field="positions"
            )
        begins, counts = _insertion(own.size, found.astype(np.int64, copy=False))
        part, dtype = conversion.values("source", np.concatenate([own, more]))
        parts = [part, conversion.integers("source_offsets", begins), conversion.integers("counts", counts)]
        request, response = operators.GatherIntervalsRequest(), operators.GatherIntervalsResponse
        total = own.size + more.size
        outputs = [Output("result", request, "destination", dtype, total, element_type=part.header.type)]
        return self._array(Task("GatherIntervals", "gather_intervals", request, parts, outputs, response, one), options)

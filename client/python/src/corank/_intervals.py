"""The operators that move intervals: expand, move, gather, scatter, load_balance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from corank import _conversion as conversion
from corank._elements import Input
from corank._elements import index_dtype as server_index_dtype
from corank._errors import InvalidArgument
from corank._options import CallOptions
from corank._results import LoadBalance
from corank._task import A, Operators, Output, Task, one
from corank._wire import OutgoingArray
from corank.v1 import operators_pb2 as operators

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _total(counts: OutgoingArray) -> int | None:
    """The sum of counts; None if they are elsewhere, or one is negative, which the server refuses by its index.

    Raises:
        InvalidArgument: the sum is more than 2^63 - 1.
    """
    if counts.data is None:
        return None
    found = np.frombuffer(counts.data, np.int64)
    if found.size and found.min() < 0:
        return None
    # Two numbers of 31 and 32 bits: sums of either do not wrap.
    total = (int((found >> 32).sum()) << 32) + int((found & 0xFFFFFFFF).sum())
    if total >= 2**63:
        raise InvalidArgument(f"counts: they add up to {total:,}, more than 2^63 - 1", field="counts")
    return total


def _check_reach(source: OutgoingArray, counts: OutgoingArray) -> None:
    """Refuses a count that no source offset can serve, before memory is made for the result.

    Raises:
        InvalidArgument: a count is more than the length of the source.
    """
    if counts.data is None or source.length is None:
        return
    found = np.frombuffer(counts.data, np.int64)
    if found.size and found.max() > source.length:
        at = int(found.argmax())
        raise InvalidArgument(
            f"counts[{at}]: {found[at]:,} elements, more than the {source.length:,} of the source",
            field=f"counts[{at}]",
        )


def _greatest_rank(counts: OutgoingArray) -> int | None:
    """The greatest of counts, less 1; None if they are elsewhere."""
    if counts.data is None:
        return None
    found = np.frombuffer(counts.data, np.int64)
    return int(found.max()) - 1 if found.size else -1


class IntervalOperators(Operators[A]):
    """Expand, Move, Gather, Scatter and LoadBalance."""

    def expand(self, values: Input, counts: Input, **options: Unpack[CallOptions]) -> A:
        """Repeats values[i] counts[i] times, like np.repeat.

        Args:
            values: shape (n,), of any fixed-width dtype of 1 to 256 bytes.
            counts: shape (n,), integers, 0 or more; or one for all values.
            **options: see CallOptions.

        Returns:
            The repeated values, shape (sum of counts,).

        Examples:
            >>> client.expand([10, 20], [3, 1])
            array([10, 10, 10, 20])
        """
        part, dtype = conversion.values("values", values)
        request, response = operators.ExpandIntervalsRequest(), operators.ExpandIntervalsResponse
        parts = [part, conversion.integers("counts", counts, part.length)]
        lengths = part.length, parts[1].length
        if None not in lengths and lengths[0] != lengths[1]:
            raise InvalidArgument(
                f"counts: {lengths[1]:,} for {lengths[0]:,} values; each value needs one",
                field="counts",
            )
        total = _total(parts[1])
        outputs = [Output("values", request, "destination", dtype, total, element_type=part.header.type)]
        task = Task("ExpandIntervals", "expand_intervals", request, parts, outputs, response, one)
        return self._array(task, options)

    def move(
        self,
        source: Input,
        source_offsets: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        **options: Unpack[CallOptions],
    ) -> A:
        """Copies many intervals: counts[i] elements from source_offsets[i] to destination_offsets[i], for each i.

        Args:
            source: the array to copy from, of any fixed-width dtype of 1 to 256 bytes.
            source_offsets: shape (n,); intervals may overlap in the source.
            destination_offsets: shape (n,); intervals must not overlap in the destination.
            counts: shape (n,), 0 or more; or one for all intervals.
            destination: what the result holds where no interval goes: an array of the source's dtype (not changed), or
                the length of a new array of zero bytes.
            allow_overlap: skip the check that raises InvalidArgument for overlaps; any of the copies may win.
            **options: see CallOptions.

        Returns:
            The destination after all copies, in the dtype of `source`.

        Examples:
            >>> client.move([1, 2, 3, 4], [0, 2], [3, 0], [1, 2], destination=5)
            array([3, 4, 0, 1, 0])
        """
        part, dtype = conversion.values("source", source)
        request = operators.MoveIntervalsRequest(allow_overlap=allow_overlap)
        offsets = conversion.integers("source_offsets", source_offsets)
        parts = [
            part,
            offsets,
            conversion.integers("destination_offsets", destination_offsets),
            conversion.integers("counts", counts, offsets.length),
            *self._destination(request, destination, dtype),
        ]
        count = request.destination_count if request.HasField("destination_count") else parts[-1].length
        outputs = [Output("result", request, "result_destination", dtype, count, element_type=part.header.type)]
        response = operators.MoveIntervalsResponse
        task = Task("MoveIntervals", "move_intervals", request, parts, outputs, response, one)
        return self._array(task, options)

    def gather(self, source: Input, source_offsets: Input, counts: Input, **options: Unpack[CallOptions]) -> A:
        """Copies intervals source[source_offsets[i]:][:counts[i]], one after the other, into a dense result.

        Args:
            source: the array to copy from, of any fixed-width dtype of 1 to 256 bytes.
            source_offsets: shape (n,); intervals may overlap.
            counts: shape (n,), 0 or more; or one for all intervals.
            **options: see CallOptions.

        Returns:
            The intervals, shape (sum of counts,).

        Examples:
            >>> client.gather([10, 20, 30, 40], [2, 0], [2, 1])
            array([30, 40, 10])
        """
        part, dtype = conversion.values("source", source)
        offsets = conversion.integers("source_offsets", source_offsets)
        parts = [part, offsets, conversion.integers("counts", counts, offsets.length)]
        _check_reach(part, parts[2])
        request, response = operators.GatherIntervalsRequest(), operators.GatherIntervalsResponse
        total = _total(parts[2])
        outputs = [Output("result", request, "destination", dtype, total, element_type=part.header.type)]
        task = Task("GatherIntervals", "gather_intervals", request, parts, outputs, response, one)
        return self._array(task, options)

    def scatter(
        self,
        source: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        **options: Unpack[CallOptions],
    ) -> A:
        """Cuts a dense source into intervals of counts[i] elements and copies each to destination_offsets[i].

        Args:
            source: the array to copy from, shape (sum of counts,), of any fixed-width dtype of 1 to 256 bytes.
            destination_offsets: shape (n,); intervals must not overlap.
            counts: shape (n,), 0 or more; or one for all intervals.
            destination: as for `move`.
            allow_overlap: as for `move`.
            **options: see CallOptions.

        Returns:
            The destination after all copies, in the dtype of `source`.

        Examples:
            >>> client.scatter([1, 2, 3], [3, 0], [1, 2], destination=5)
            array([2, 3, 0, 1, 0])
        """
        part, dtype = conversion.values("source", source)
        request = operators.ScatterIntervalsRequest(allow_overlap=allow_overlap)
        offsets = conversion.integers("destination_offsets", destination_offsets)
        parts = [
            part,
            offsets,
            conversion.integers("counts", counts, offsets.length),
            *self._destination(request, destination, dtype),
        ]
        count = request.destination_count if request.HasField("destination_count") else parts[-1].length
        outputs = [Output("result", request, "result_destination", dtype, count, element_type=part.header.type)]
        response = operators.ScatterIntervalsResponse
        task = Task("ScatterIntervals", "scatter_intervals", request, parts, outputs, response, one)
        return self._array(task, options)

    def load_balance(
        self, counts: Input, *, index_dtype: DTypeLike | None = np.intp, **options: Unpack[CallOptions]
    ) -> LoadBalance:
        """Finds, for each work item, the object that made it and its rank among that object's items.

        Args:
            counts: shape (n,): how many items each object makes, 0 or more.
            index_dtype: integer dtype of the results; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            LoadBalance(objects, ranks), each of shape (sum of counts,).

        Examples:
            >>> client.load_balance([2, 0, 1])
            LoadBalance(objects=array([0, 0, 2]), ranks=array([0, 1, 0]))
        """
        part, request = conversion.integers("counts", counts), operators.LoadBalanceRequest()
        total = _total(part)
        server_dtype = server_index_dtype(max(part.most or 0, total or 0) - 1)
        wanted = None if index_dtype is None else np.dtype(index_dtype)
        greatest = {"objects": None if part.most is None else part.most - 1, "ranks": _greatest_rank(part)}
        outputs = [
            Output(field, request, f"{field}_destination", server_dtype, total, True, wanted, most)
            for field, most in greatest.items()
        ]

        def finish(results: Sequence[Any]) -> LoadBalance:
            return LoadBalance(*results)

        response = operators.LoadBalanceResponse
        balance: LoadBalance = self._perform(
            Task("LoadBalance", "load_balance", request, [part], outputs, response, finish), options
        )
        return balance

    @staticmethod
    def _destination(
        request: operators.MoveIntervalsRequest | operators.ScatterIntervalsRequest,
        destination: int | Input,
        dtype: np.dtype[Any],
    ) -> list[OutgoingArray]:
        if isinstance(destination, (int, np.integer)):
            request.destination_count = int(destination)
            return []
        part, found = conversion.values("destination", destination)
        if found != dtype:
            raise TypeError(f"destination is {found}, source is {dtype}; they must be of one dtype")
        return [part]

"""Sort, Merge and Search: the operators that compare keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from corank import _conversion as conversion
from corank import _errors as errors
from corank._columns import KeyColumn, Order, columns_request, runs_parts, sorted_columns
from corank._conversion import Keys
from corank._elements import Input, flag
from corank._elements import index_dtype as server_index_dtype
from corank._first_rows import FirstRows, first_rows
from corank._nulls import NanOrder, NullOrder
from corank._options import MERGE_ALGORITHMS, SORT_ALGORITHMS, CallOptions, choice
from corank._task import A, Operators, Output, Task, one, pair
from corank._wire import Part
from corank.v1 import operators_pb2 as operators

if TYPE_CHECKING:
    from typing_extensions import Unpack

SortAlgorithm = Literal["auto", "mergesort", "radix", "odd-even-mergesort"]
MergeAlgorithm = Literal["auto", "merge-path", "basic", "tiled", "circular-buffer"]
SIDES = {"left": operators.SEARCH_BOUND_LOWER, "right": operators.SEARCH_BOUND_UPPER}


def _order(descending: bool) -> Any:
    return operators.SORT_ORDER_DESCENDING if flag("descending", descending) else operators.SORT_ORDER_ASCENDING


def indices_output(
    field: str,
    request: Any,
    destination: str,
    count: int | None,
    greatest: int | None,
    dtype: Any,
    most: int | None = None,
) -> Output:
    wanted = None if dtype is None else np.dtype(dtype)
    server_dtype = server_index_dtype(greatest or 0)
    return Output(field, request, destination, server_dtype, count, True, wanted, greatest, most=most)


def _sum(lengths: Iterable[int | None]) -> int | None:
    """The sum; None if one is not known."""
    found = list(lengths)
    return None if None in found else sum(length or 0 for length in found)


@dataclass(frozen=True)
class _Sorting:
    """A Sort request without its arrays, and these."""

    request: operators.SortRequest
    parts: list[Part]
    outputs: list[Output]
    """The outputs of the keys."""
    count: int | None
    """Elements of each output; None: not known before the answer, and ..."""
    most: int | None
    """... at most so many."""
    greatest: int | None
    """The greatest position."""
    keys: Callable[[Sequence[Any]], Any]
    """The sorted keys, of the results that `outputs` give."""
    is_shifted: bool

    def keys_and_last(self, results: Sequence[Any]) -> Any:
        """The pair of the sorted keys and the last result."""
        return self.keys(results[:-1]), results[-1]

    def indices(self, dtype: Any) -> Output:
        """The positions of the keys as another output."""
        return indices_output(
            "indices", self.request, "indices_destination", self.count, self.greatest, dtype, self.most
        )


def _sorting(
    keys: Input,
    descending: bool,
    algorithm: str,
    segments: Input | None,
    limit: int | None,
    offset: int,
    dtype: DTypeLike | None,
) -> _Sorting:
    number = choice("algorithm", algorithm, SORT_ALGORITHMS)
    first = first_rows(limit, offset, segments)
    if conversion.remote(keys) is None:
        keys = conversion.one_dimensional("keys", keys)
        if keys.dtype.kind in "US":
            return _sorting_text(keys, descending, number, first, dtype)
    part, key_dtype, is_shifted = conversion.keys("keys", keys, dtype)
    request = operators.SortRequest(
        order=_order(descending), algorithm=number, limit=first.limit, offset=first.offset or None
    )
    parts: list[Part] = [part, *first.parts]
    count, most = first.count(part.length), first.most(part.most)
    ordered = Output("keys", request, "keys_destination", key_dtype, count, element_type=part.header.type, most=most)
    greatest = None if part.most is None else part.most - 1
    finish = restored_one if is_shifted else one
    return _Sorting(request, parts, [ordered], count, most, greatest, finish, is_shifted)


def _sorting_text(
    keys: NDArray[Any],
    descending: bool,
    algorithm: Any,
    first: FirstRows,
    dtype: DTypeLike | None,
) -> _Sorting:
    """An array of NumPy's strings travels as the only key column."""
    if dtype is not None:
        raise TypeError("dtype: not for strings")
    request, columns = columns_request([keys], Order(descending), algorithm, first)
    (column,) = columns
    count, most = first.count(column.rows), first.most(column.rows)

    def finish(results: Sequence[Any]) -> Any:
        return sorted_columns(columns, results)[0]

    parts: list[Part] = [column.part, *first.parts]
    return _Sorting(request, parts, column.outputs, count, most, column.rows - 1, finish, False)


def _sort(
    plan: _Sorting, parts: Sequence[Part], outputs: Sequence[Output], finish: Callable[[Sequence[Any]], Any]
) -> Task:
    return Task("Sort", "sort", plan.request, parts, outputs, operators.SortResponse, finish, plan.is_shifted)


def of_one_order(arrays: Sequence[tuple[str, Input, DTypeLike | None]]) -> list[Keys]:
    """Arrays that are compared with each other: all of their dates and times are shifted, or none."""
    found = [conversion.keys(*each) for each in arrays]
    if not any(each.is_shifted for each in found):
        return found
    return [conversion.keys(*each, shift=True) for each in arrays]


def of_one_dtype(names: Sequence[str], dtypes: Sequence[np.dtype[Any]]) -> None:
    """Refuses arrays of these names that are of several dtypes.

    Raises:
        TypeError: they are.
    """
    for name, dtype in zip(names, dtypes):
        if dtype != dtypes[0]:
            raise TypeError(f"{name} is {dtype}, {names[0]} is {dtypes[0]}; all must be of one dtype")


def _places(field: str, arrays: Sequence[Any]) -> list[str]:
    return [f"{field}[{at}]" for at in range(len(arrays))]


def _first(results: Sequence[Any]) -> Any:
    return results[0][0] if isinstance(results[0], np.ndarray) else results[0]


def restored_one(results: Sequence[Any]) -> Any:
    """The only result, whose dates or times travelled less 1."""
    return conversion.restored(results[0])


def restored_pair(results: Sequence[Any]) -> Any:
    """Both results; the dates or times of the first one travelled less 1."""
    return conversion.restored(results[0]), results[1]


class OrderedOperators(Operators[A]):
    """Sort, Merge and Search."""

    def sort(
        self,
        keys: Input,
        *,
        values: Input | None = None,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> A | tuple[A, A]:
        """Sorts keys, alone or with values. Stable in both directions, like np.sort(kind="stable").

        Args:
            keys: shape (n,): numbers, bools, dates, times, or strings (dtype "U" or "S"). NaN and NaT come last in
                ascending and first in descending order.
            values: shape (n,), one value for each key, of any fixed-width dtype of 1 to 256 bytes.
            descending: greatest first; equal keys keep the order of their input.
            algorithm: "auto", "mergesort", "radix" or "odd-even-mergesort"; the result is the same.
            segments: s + 1 offsets that rise from 0 to n. Each segment keys[segments[i]:segments[i + 1]] is sorted for
                itself.
            limit: return only the first `limit` results in sorted order; with segments, the first `limit` of each,
                one segment after the other. corank.limited_segments returns their offsets.
            offset: leave out the first `offset` results before `limit` counts; not with segments.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            **options: see CallOptions.

        Returns:
            The sorted keys in the dtype of `keys` (little-endian), or a pair (keys, values).

        Raises:
            InvalidArgument: an argument does not fit the others; `field` names it.

        Examples:
            >>> client.sort([3, 1, 2])
            array([1, 2, 3])
            >>> client.sort([3, 1, 2], values=[30, 10, 20], descending=True)
            (array([3, 2, 1]), array([30, 20, 10]))
        """
        plan = _sorting(keys, descending, algorithm, segments, limit, offset, dtype)
        plan.request.output = operators.SORT_OUTPUT_KEYS
        if values is None:
            return self._array(_sort(plan, plan.parts, plan.outputs, plan.keys), options)
        part, value_dtype = conversion.values("values", values)
        moved = Output(
            "values",
            plan.request,
            "values_destination",
            value_dtype,
            plan.count,
            element_type=part.header.type,
            most=plan.most,
        )
        return self._pair(_sort(plan, [*plan.parts, part], [*plan.outputs, moved], plan.keys_and_last), options)

    def argsort(
        self,
        keys: Input,
        *,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> A:
        """Finds the stable permutation that sorts keys, like np.argsort(kind="stable").

        Args:
            keys: shape (n,), as for `sort`.
            descending: greatest first; equal keys keep the order of their input.
            algorithm: "auto", "mergesort", "radix" or "odd-even-mergesort"; the result is the same.
            segments: s + 1 offsets that rise from 0 to n. Each segment keys[segments[i]:segments[i + 1]] is sorted for
                itself.
            limit: return only the first `limit` results in sorted order; with segments, the first `limit` of each,
                one segment after the other. corank.limited_segments returns their offsets.
            offset: leave out the first `offset` results before `limit` counts; not with segments.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            Positions, shape (n,) or less with a limit, so that keys[positions] is sorted. With segments, positions
            count from the start of the whole array.

        Examples:
            >>> client.argsort([30, 10, 20])
            array([1, 2, 0])
        """
        plan = _sorting(keys, descending, algorithm, segments, limit, offset, dtype)
        plan.request.output = operators.SORT_OUTPUT_INDICES
        indices = plan.indices(index_dtype)
        return self._array(_sort(plan, plan.parts, [indices], one)._replace(is_shifted=False), options)

    def sort_with_indices(
        self,
        keys: Input,
        *,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> tuple[A, A]:
        """Does `sort` and `argsort` in one call.

        Args:
            keys: shape (n,), as for `sort`.
            descending: greatest first; equal keys keep the order of their input.
            algorithm: "auto", "mergesort", "radix" or "odd-even-mergesort"; the result is the same.
            segments: s + 1 offsets that rise from 0 to n. Each segment keys[segments[i]:segments[i + 1]] is sorted for
                itself.
            limit: return only the first `limit` results in sorted order; with segments, the first `limit` of each,
                one segment after the other. corank.limited_segments returns their offsets.
            offset: leave out the first `offset` results before `limit` counts; not with segments.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            The pair (sorted keys, positions).

        Examples:
            >>> client.sort_with_indices([30, 10, 20])
            (array([10, 20, 30]), array([1, 2, 0]))
        """
        plan = _sorting(keys, descending, algorithm, segments, limit, offset, dtype)
        plan.request.output = operators.SORT_OUTPUT_KEYS_AND_INDICES
        outputs = [*plan.outputs, plan.indices(index_dtype)]
        return self._pair(_sort(plan, plan.parts, outputs, plan.keys_and_last), options)

    def argsort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        descending: bool | Sequence[bool] = False,
        nulls: NullOrder | Sequence[NullOrder] = "last",
        nan: NanOrder | Sequence[NanOrder] = "greatest",
        algorithm: SortAlgorithm = "auto",
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        runs: Input | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> A:
        """Finds the stable permutation that sorts rows by several columns, like np.lexsort with the first column first.

        Args:
            columns: as for `sort_columns`.
            descending: greatest first, in all columns or, as a sequence, in each.
            nulls: as for `sort_columns`.
            nan: as for `sort_columns`.
            algorithm: how the server sorts the first 8 bytes that differ; the result is the same.
            segments: as for `sort_columns`. Row numbers count from the start of all rows.
            limit: return only the first `limit` rows in sorted order; with segments, of each segment.
            offset: leave out the first `offset` rows before `limit` counts; not with segments.
            runs: as for `sort_columns`.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            Row numbers, shape (n,) or (min(n, limit),).

        Examples:
            >>> client.argsort_columns([["b", "a", "b"], [2, 3, 1]])
            array([1, 2, 0])
        """
        number = choice("algorithm", algorithm, SORT_ALGORITHMS)
        first = first_rows(limit, offset, segments)
        request, found = columns_request(columns, Order(descending, nulls, nan), number, first)
        request.output = operators.SORT_OUTPUT_INDICES
        parts: list[Part] = [*(column.part for column in found), *first.parts, *runs_parts(runs)]
        rows = found[0].rows
        count, most = first.count(rows), first.most(rows)
        indices = indices_output("indices", request, "indices_destination", count, rows - 1, index_dtype, most)
        task = Task("Sort", "sort", request, parts, [indices], operators.SortResponse, one)
        return self._array(task, options)

    def merge(
        self,
        keys: Sequence[Input],
        *,
        values: Sequence[Input] | None = None,
        descending: bool = False,
        algorithm: MergeAlgorithm = "auto",
        assume_sorted: bool = False,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> A | tuple[A, A]:
        """Merges sorted arrays into one. Stable: equal keys are taken from the earlier array first.

        Args:
            keys: 2 to 1024 arrays of one dtype, each sorted in the direction of `descending`.
            values: as many arrays as `keys`, each as long as its keys, all of one dtype.
            descending: the inputs are sorted, and the result is, greatest first.
            algorithm: how the server merges: "auto", "merge-path", "basic", "tiled" or "circular-buffer". The result is
                the same.
            assume_sorted: skip the check that raises InvalidArgument for an unsorted input.
            dtype: as for `sort`.
            **options: see CallOptions.

        Returns:
            All keys in order, or a pair (keys, values).

        Examples:
            >>> client.merge([[1, 3], [2, 4]])
            array([1, 2, 3, 4])
        """
        request = operators.MergeRequest(
            order=_order(descending),
            algorithm=choice("algorithm", algorithm, MERGE_ALGORITHMS),
            assume_sorted=assume_sorted,
        )
        if not isinstance(keys, (list, tuple)):
            raise TypeError(f"keys: is of type {type(keys).__name__}; pass a list of sorted arrays")
        if len(keys) == 0:
            raise errors.InvalidArgument("keys: needs 2 arrays or more to merge", field="keys")
        found = of_one_order([(f"keys[{at}]", array, dtype) for at, array in enumerate(keys)])
        of_one_dtype(_places("keys", keys), [each.dtype for each in found])
        parts = [each.part._replace(field="keys") for each in found]
        count, most = _sum(part.length for part in parts), _sum(part.most for part in parts)
        first, key_dtype, is_shifted = found[0]
        outputs = [
            Output("keys", request, "keys_destination", key_dtype, count, element_type=first.header.type, most=most),
        ]
        if values is not None:
            if len(values) != len(keys):
                raise errors.InvalidArgument(
                    f"values: {len(values)} arrays for the {len(keys)} of keys; each needs its own", field="values"
                )
            moved = [conversion.values("values", array) for array in values]
            of_one_dtype(_places("values", values), [value_dtype for _, value_dtype in moved])
            parts += [part for part, _ in moved]
            first, value_dtype = moved[0]
            outputs.append(
                Output(
                    "values",
                    request,
                    "values_destination",
                    value_dtype,
                    count,
                    element_type=first.header.type,
                    most=most,
                )
            )
        response = operators.MergeResponse
        if values is None:
            finish = restored_one if is_shifted else one
            return self._array(Task("Merge", "merge", request, parts, outputs, response, finish, is_shifted), options)
        finish = restored_pair if is_shifted else pair
        return self._pair(Task("Merge", "merge", request, parts, outputs, response, finish, is_shifted), options)

    def search(
        self,
        haystack: Input,
        needles: Input,
        *,
        side: Literal["left", "right"] = "left",
        descending: bool = False,
        assume_sorted: bool = False,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> A:
        """Finds where needles belong in a sorted array, like np.searchsorted.

        Args:
            haystack: shape (n,), sorted in the direction of `descending`.
            needles: shape (m,), in any order, or one needle. The client converts another dtype if no needle changes by
                it.
            side: "left": the first position whose key does not come before the needle; "right": the first position
                whose key comes after it.
            descending: the haystack is sorted greatest first.
            assume_sorted: skip the check that raises InvalidArgument for an unsorted haystack.
            dtype: as for `sort`.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            Positions from 0 to n, shape (m,); for one needle, one position.

        Examples:
            >>> client.search([10, 20, 30], [20, 25])
            array([1, 2])
            >>> int(client.search([10, 20, 30], 25))
            2
        """
        is_scalar = conversion.is_scalar(needles) and options.get("out") is None and options.get("keep") is None
        if conversion.is_scalar(needles):
            needles = np.atleast_1d(np.asarray(needles))
        held = conversion.remote(haystack)
        if held is None:
            haystack = host = conversion.one_dimensional("haystack", haystack)
            key_dtype = host.dtype.newbyteorder("<")
        else:
            key_dtype = held.dtype
        needles = conversion.like("needles", needles, key_dtype)
        sorted_part, needle_part = (
            each.part for each in of_one_order([("haystack", haystack, dtype), ("needles", needles, dtype)])
        )
        request = operators.SearchRequest(
            bound=choice("side", side, SIDES), order=_order(descending), assume_sorted=assume_sorted
        )
        count, most = needle_part.length, needle_part.most
        positions = indices_output("positions", request, "destination", count, sorted_part.most, index_dtype, most)
        parts = [sorted_part, needle_part]
        finish = _first if is_scalar else one
        task = Task("Search", "search", request, parts, [positions], operators.SearchResponse, finish)
        return self._array(task, options)

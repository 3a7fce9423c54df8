"""Sort, Merge and Search: the operators that compare keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from corank import _conversion as conversion
from corank import _errors as errors
from corank._columns import KeyColumn, columns_request, sorted_columns
from corank._elements import Input
from corank._elements import index_dtype as server_index_dtype
from corank._options import MERGE_ALGORITHMS, SORT_ALGORITHMS, CallOptions, choice
from corank._task import A, Operators, Output, Task, one, pair
from corank._wire import OutgoingArray, Part
from corank.v1 import operators_pb2 as operators

if TYPE_CHECKING:
    from typing_extensions import Unpack

SortAlgorithm = Literal["auto", "mergesort", "radix", "odd-even-mergesort"]
MergeAlgorithm = Literal["auto", "merge-path", "basic", "tiled", "circular-buffer"]
_SIDES = {"left": operators.SEARCH_BOUND_LOWER, "right": operators.SEARCH_BOUND_UPPER}


def _order(descending: bool) -> Any:
    return operators.SORT_ORDER_DESCENDING if descending else operators.SORT_ORDER_ASCENDING


def _indices(field: str, request: Any, destination: str, count: int | None, greatest: int, dtype: Any) -> Output:
    wanted = None if dtype is None else np.dtype(dtype)
    return Output(field, request, destination, server_index_dtype(greatest), count, True, wanted, greatest)


def _sort(request: Any, parts: Sequence[Part], outputs: Sequence[Output], finish: Any) -> Task:
    return Task("Sort", "sort", request, parts, outputs, operators.SortResponse, finish)


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
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> A | tuple[A, A]:
        """Sorts keys, alone or with values. Stable in both directions, like np.sort(kind="stable").

        Args:
            keys: shape (n,). NaNs come last in ascending and first in descending order.
            values: shape (n,), one value for each key, of any fixed-width dtype of 1 to 256 bytes.
            descending: greatest first; equal keys keep the order of their input.
            algorithm: "auto", "mergesort", "radix" or "odd-even-mergesort"; the result is the same.
            segments: s + 1 offsets that rise from 0 to n. Each segment keys[segments[i]:segments[i + 1]] is sorted for
                itself.
            limit: return only the first `limit` results of the order. Not together with segments.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            **options: see CallOptions.

        Returns:
            The sorted keys in the dtype of `keys`, or a pair (keys, values).

        Raises:
            InvalidArgument: an argument does not fit the others; `field` names it.

        Example:
            >>> client.sort([3, 1, 2])
            array([1, 2, 3])
            >>> client.sort([3, 1, 2], values=[30, 10, 20], descending=True)
            (array([3, 2, 1]), array([30, 20, 10]))
        """
        request, parts, ordered = self._sort_request(keys, descending, algorithm, segments, limit, dtype)
        request.output = operators.SORT_OUTPUT_KEYS
        if values is None:
            return self._array(_sort(request, parts, [ordered], one), options)
        part, value_dtype = conversion.values("values", values)
        moved = Output(
            "values", request, "values_destination", value_dtype, ordered.count, element_type=part.header.type
        )
        return self._pair(_sort(request, [*parts, part], [ordered, moved], pair), options)

    def argsort(
        self,
        keys: Input,
        *,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: Input | None = None,
        limit: int | None = None,
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
            limit: return only the first `limit` results of the order. Not together with segments.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            Positions, shape (n,) or (min(n, limit),), so that keys[positions] is sorted. With segments, positions count
            from the start of the whole array.

        Example:
            >>> client.argsort([30, 10, 20])
            array([1, 2, 0])
        """
        request, parts, ordered = self._sort_request(keys, descending, algorithm, segments, limit, dtype)
        request.output = operators.SORT_OUTPUT_INDICES
        greatest = parts[0].header.count - 1
        indices = _indices("indices", request, "indices_destination", ordered.count, greatest, index_dtype)
        return self._array(_sort(request, parts, [indices], one), options)

    def sort_with_indices(
        self,
        keys: Input,
        *,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: Input | None = None,
        limit: int | None = None,
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
            limit: return only the first `limit` results of the order. Not together with segments.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            The pair (sorted keys, positions).

        Example:
            >>> client.sort_with_indices([30, 10, 20])
            (array([10, 20, 30]), array([1, 2, 0]))
        """
        request, parts, ordered = self._sort_request(keys, descending, algorithm, segments, limit, dtype)
        request.output = operators.SORT_OUTPUT_KEYS_AND_INDICES
        greatest = parts[0].header.count - 1
        indices = _indices("indices", request, "indices_destination", ordered.count, greatest, index_dtype)
        return self._pair(_sort(request, parts, [ordered, indices], pair), options)

    def argsort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        descending: bool | Sequence[bool] = False,
        algorithm: SortAlgorithm = "auto",
        limit: int | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> A:
        """Finds the stable permutation that sorts rows by several columns, like np.lexsort with the first column first.

        Args:
            columns: as for `sort_columns`.
            descending: greatest first, in all columns or, as a sequence, in each.
            algorithm: how the server sorts the first 8 bytes that differ; the result is the same.
            limit: return only the first `limit` rows of the order.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            Row numbers, shape (n,) or (min(n, limit),).

        Example:
            >>> client.argsort_columns([["b", "a", "b"], [2, 3, 1]])
            array([1, 2, 0])
        """
        number = choice("algorithm", algorithm, SORT_ALGORITHMS)
        request, found = columns_request(columns, descending, number, limit)
        request.output = operators.SORT_OUTPUT_INDICES
        parts = [column.part for column in found]
        rows = found[0].rows
        count = rows if limit is None else min(limit, rows)
        indices = _indices("indices", request, "indices_destination", count, rows - 1, index_dtype)
        return self._array(_sort(request, parts, [indices], one), options)

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

        Example:
            >>> client.merge([[1, 3], [2, 4]])
            array([1, 2, 3, 4])
        """
        request = operators.MergeRequest(
            order=_order(descending),
            algorithm=choice("algorithm", algorithm, MERGE_ALGORITHMS),
            assume_sorted=assume_sorted,
        )
        if len(keys) == 0:
            raise errors.InvalidArgument("keys: needs 2 arrays or more to merge", field="keys")
        pairs = [conversion.keys("keys", array, dtype) for array in keys]
        self._one_dtype("keys", [key_dtype for _, key_dtype in pairs])
        parts = [part for part, _ in pairs]
        count, (first, key_dtype) = sum(part.header.count for part in parts), pairs[0]
        outputs = [
            Output("keys", request, "keys_destination", key_dtype, count, element_type=first.header.type),
        ]
        if values is not None:
            if len(values) != len(keys):
                raise errors.InvalidArgument(
                    f"values: {len(values)} arrays for the {len(keys)} of keys; each needs its own", field="values"
                )
            moved = [conversion.values("values", array) for array in values]
            self._one_dtype("values", [value_dtype for _, value_dtype in moved])
            parts += [part for part, _ in moved]
            first, value_dtype = moved[0]
            outputs.append(
                Output("values", request, "values_destination", value_dtype, count, element_type=first.header.type)
            )
        response = operators.MergeResponse
        if values is None:
            return self._array(Task("Merge", "merge", request, parts, outputs, response, one), options)
        return self._pair(Task("Merge", "merge", request, parts, outputs, response, pair), options)

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
            needles: shape (m,), in any order. The client converts another dtype if no needle changes by it.
            side: "left": the first position whose key does not come before the needle; "right": the first position
                whose key comes after it.
            descending: the haystack is sorted greatest first.
            assume_sorted: skip the check that raises InvalidArgument for an unsorted haystack.
            dtype: as for `sort`.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            Positions from 0 to n, shape (m,).

        Example:
            >>> client.search([10, 20, 30], [20, 25])
            array([1, 2])
        """
        sorted_part, key_dtype = conversion.keys("haystack", haystack, dtype)
        needle_part, _ = conversion.keys("needles", conversion.like("needles", needles, key_dtype), dtype)
        request = operators.SearchRequest(
            bound=choice("side", side, _SIDES), order=_order(descending), assume_sorted=assume_sorted
        )
        greatest, count = sorted_part.header.count, needle_part.header.count
        positions = _indices("positions", request, "destination", count, greatest, index_dtype)
        parts = [sorted_part, needle_part]
        task = Task("Search", "search", request, parts, [positions], operators.SearchResponse, one)
        return self._array(task, options)

    @staticmethod
    def _sort_request(
        keys: Input,
        descending: bool,
        algorithm: str,
        segments: Input | None,
        limit: int | None,
        dtype: DTypeLike | None,
    ) -> tuple[operators.SortRequest, list[OutgoingArray], Output]:
        part, key_dtype = conversion.keys("keys", keys, dtype)
        request = operators.SortRequest(
            order=_order(descending), algorithm=choice("algorithm", algorithm, SORT_ALGORITHMS)
        )
        if limit is not None:
            request.limit = limit
        parts = [part]
        if segments is not None:
            parts.append(conversion.integers("segment_offsets", segments))
        count = part.header.count if limit is None else max(0, min(limit, part.header.count))
        ordered = Output("keys", request, "keys_destination", key_dtype, count, element_type=part.header.type)
        return request, parts, ordered

    @staticmethod
    def _one_dtype(field: str, dtypes: Sequence[np.dtype[Any]]) -> None:
        for at, dtype in enumerate(dtypes):
            if dtype != dtypes[0]:
                raise TypeError(f"{field}[{at}] is {dtype}, {field}[0] is {dtypes[0]}; all must be of one dtype")


class ColumnOperators(Operators[A]):
    """sort_columns, whose results are more than the fields of one response; a chain does not take it."""

    def sort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        values: Input | None = None,
        descending: bool | Sequence[bool] = False,
        algorithm: SortAlgorithm = "auto",
        limit: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Any:
        """Sorts rows by several columns: by the first, equal rows by the second, and so on. Stable.

        Args:
            columns: 1 to 16 columns of n rows. A column is an array as for `sort`; an array of byte strings of one
                width (dtype "S" or "V"), compared byte by byte; or a list or tuple of bytes or of str, of any lengths,
                compared as in Python.
            values: shape (n,), one value for each row, as for `sort`.
            descending: greatest first, in all columns or, as a sequence, in each.
            algorithm: how the server sorts the first 8 bytes that differ; the result is the same.
            limit: return only the first `limit` rows of the order.
            **options: see CallOptions. A list of strings is two results for out= and keep=: the joined bytes (uint8),
                and where each string begins and the last one ends (int64).

        Returns:
            The list of sorted columns, each in the form in which it was given, or with values a pair (columns, values).
            A list of strings that keep= keeps is a pair of handles.

        Example:
            >>> client.sort_columns([["b", "a", "b"], [2, 3, 1]])
            [['a', 'b', 'b'], array([3, 1, 2])]
        """
        number = choice("algorithm", algorithm, SORT_ALGORITHMS)
        request, found = columns_request(columns, descending, number, limit)
        parts: list[Part] = [column.part for column in found]
        request.output = operators.SORT_OUTPUT_KEYS
        outputs = [output for column in found for output in column.outputs]
        if values is not None:
            part, value_dtype = conversion.values("values", values)
            parts.append(part)
            rows = found[0].rows if limit is None else min(limit, found[0].rows)
            outputs.append(
                Output("values", request, "values_destination", value_dtype, rows, element_type=part.header.type)
            )

        def finish(results: Sequence[Any]) -> Any:
            columns = sorted_columns(found, results)
            return columns if values is None else (columns, results[-1])

        return self._perform(_sort(request, parts, outputs, finish), options)

"""The client: one method for each operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from corank import arrays, errors
from corank.columns import KeyColumn, columns_request
from corank.connection import ENGINES, MERGE_ALGORITHMS, SORT_ALGORITHMS, CallOptions, Connection, choice
from corank.results import LoadBalance, ServerInfo, ServerLimits
from corank.v1 import corank_service_pb2 as service
from corank.v1 import operators_pb2 as operators
from corank.wire import OutgoingArray, OutgoingMessage

if TYPE_CHECKING:
    from typing_extensions import Unpack

SortAlgorithm = Literal["auto", "mergesort", "radix", "odd-even-mergesort"]
MergeAlgorithm = Literal["auto", "merge-path", "basic", "tiled", "circular-buffer"]
_SIDES = {"left": operators.SEARCH_BOUND_LOWER, "right": operators.SEARCH_BOUND_UPPER}


def _order(descending: bool) -> Any:
    return operators.SORT_ORDER_DESCENDING if descending else operators.SORT_ORDER_ASCENDING


class Client(Connection):
    """A connection to a corank server. Thread-safe: calls of several threads run at the same time.

    It connects at the first call and again when a connection breaks. Use it as a context manager, or call `close`.
    All methods raise CorankError (see `corank.errors`) for what fails, TypeError for dtypes that do not fit, and take
    the keywords of `CallOptions`. Arrays are one-dimensional; inputs are not changed. Counts and offsets are in
    elements. Index arrays come back as numpy.intp, like NumPy's; `index_dtype=None` keeps the server's uint32 or
    uint64 and saves the conversion.

    Args:
        address: HOST:PORT of the server; None: CORANK_SERVER of the environment, else 127.0.0.1:50051.
        deadline: seconds that a call may take, retries included, unless it says otherwise; None: no limit.
        max_message_bytes: the largest request to send and response to take, in bytes. The server has its own limit.
        compression: "none" or "gzip", for slow networks; random keys do not shrink.
        retries: how often to try again when the server is too busy or drains, and says when to come back.
        progress: whether to show on stderr for how long a long call has run, if that is a terminal.
    """

    @overload
    def sort(
        self,
        keys: ArrayLike,
        *,
        values: None = None,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: ArrayLike | None = None,
        limit: int | None = None,
        dtype: str | None = None,
        **options: Unpack[CallOptions],
    ) -> NDArray[Any]: ...
    @overload
    def sort(
        self,
        keys: ArrayLike,
        *,
        values: ArrayLike,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: ArrayLike | None = None,
        limit: int | None = None,
        dtype: str | None = None,
        **options: Unpack[CallOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def sort(
        self,
        keys: ArrayLike,
        *,
        values: ArrayLike | None = None,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: ArrayLike | None = None,
        limit: int | None = None,
        dtype: str | None = None,
        **options: Unpack[CallOptions],
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Sorts keys, alone or with values. Stable in both directions, like np.sort(kind="stable").

        Args:
            keys: n numbers. NaNs come last in ascending and first in descending order.
            values: one for each key, shape (n,): any fixed-width dtype of 1 to 256 bytes, structured ones included.
            descending: greatest first; equal keys keep the order of their input.
            algorithm: how; the answer is the same for all.
            segments: s + 1 offsets, the first 0, the last n, none smaller than the one before: each segment
                keys[segments[i]:segments[i + 1]] is sorted for itself.
            limit: return only the first `limit` results of the order. Not together with segments.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            **options: see CallOptions.

        Returns:
            The sorted keys in the dtype of `keys` (little-endian), or a pair (keys, values).
        """
        request, parts, key_dtype = self._sort_request(keys, descending, algorithm, segments, limit, dtype)
        request.output = operators.SORT_OUTPUT_KEYS
        if values is None:
            return self.call("Sort", request, parts, operators.SortResponse, options).array("keys", key_dtype)
        outgoing, value_dtype = arrays.values("values", values)
        result = self.call("Sort", request, [*parts, outgoing], operators.SortResponse, options)
        return result.array("keys", key_dtype), result.array("values", value_dtype)

    def argsort(
        self,
        keys: ArrayLike,
        *,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: ArrayLike | None = None,
        limit: int | None = None,
        dtype: str | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> NDArray[Any]:
        """The stable permutation that sorts `keys`, like np.argsort(kind="stable").

        Takes what `sort` takes. With segments, positions count from the start of the whole array.

        Returns:
            Positions, shape (n,) or (min(n, limit),), so that keys[result] is sorted; of `index_dtype`.
        """
        request, parts, _ = self._sort_request(keys, descending, algorithm, segments, limit, dtype)
        request.output = operators.SORT_OUTPUT_INDICES
        return self.call("Sort", request, parts, operators.SortResponse, options).indices("indices", index_dtype)

    def sort_with_indices(
        self,
        keys: ArrayLike,
        *,
        descending: bool = False,
        algorithm: SortAlgorithm = "auto",
        segments: ArrayLike | None = None,
        limit: int | None = None,
        dtype: str | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """`sort` and `argsort` in one call: the pair (sorted keys, indices)."""
        request, parts, key_dtype = self._sort_request(keys, descending, algorithm, segments, limit, dtype)
        request.output = operators.SORT_OUTPUT_KEYS_AND_INDICES
        result = self.call("Sort", request, parts, operators.SortResponse, options)
        return result.array("keys", key_dtype), result.indices("indices", index_dtype)

    def sort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        values: ArrayLike | None = None,
        descending: bool | Sequence[bool] = False,
        algorithm: SortAlgorithm = "auto",
        limit: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Any:
        """Sorts rows by several columns: by the first one, equal rows by the second, and so on. Stable.

        Args:
            columns: 1 to 16 of them, each with n rows:
                - numbers, as for `sort`;
                - byte strings of one width, 1 to 256: an array of dtype "S" or "V", compared byte by byte. In NumPy's
                  "S" shorter strings end in zero bytes, which come before every other byte;
                - a list or tuple of bytes or of str, of any lengths. A string comes before what it is a prefix of; str
                  compare by code points, as in Python (they travel as UTF-8).
            values: one for each row, as for `sort`.
            descending: greatest first, in all columns or, as a sequence, in each.
            algorithm: how the first 8 bytes that differ are sorted; the answer is the same for all.
            limit: return only the first `limit` rows of the order.
            **options: see CallOptions.

        Returns:
            The list of sorted columns, each in the form in which it was given (lists for lists of strings), or with
            values a pair (columns, values).
        """
        number = choice("algorithm", algorithm, SORT_ALGORITHMS)
        request, found = columns_request(columns, descending, number, limit)
        parts: list[OutgoingArray | OutgoingMessage] = [column.part for column in found]
        request.output = operators.SORT_OUTPUT_KEYS
        value_dtype = None
        if values is not None:
            part, value_dtype = arrays.values("values", values)
            parts.append(part)
        result = self.call("Sort", request, parts, operators.SortResponse, options)
        out = [result.column(at, column) for at, column in enumerate(found)]
        return out if value_dtype is None else (out, result.array("values", value_dtype))

    def argsort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        descending: bool | Sequence[bool] = False,
        algorithm: SortAlgorithm = "auto",
        limit: int | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> NDArray[Any]:
        """The stable permutation that sorts rows by several columns, like np.lexsort, but with the first column first.

        Takes what `sort_columns` takes.

        Returns:
            Row numbers, shape (n,) or (min(n, limit),), of `index_dtype`.
        """
        number = choice("algorithm", algorithm, SORT_ALGORITHMS)
        request, found = columns_request(columns, descending, number, limit)
        request.output = operators.SORT_OUTPUT_INDICES
        parts = [column.part for column in found]
        return self.call("Sort", request, parts, operators.SortResponse, options).indices("indices", index_dtype)

    @overload
    def merge(
        self,
        keys: Sequence[ArrayLike],
        *,
        values: None = None,
        descending: bool = False,
        algorithm: MergeAlgorithm = "auto",
        assume_sorted: bool = False,
        dtype: str | None = None,
        **options: Unpack[CallOptions],
    ) -> NDArray[Any]: ...
    @overload
    def merge(
        self,
        keys: Sequence[ArrayLike],
        *,
        values: Sequence[ArrayLike],
        descending: bool = False,
        algorithm: MergeAlgorithm = "auto",
        assume_sorted: bool = False,
        dtype: str | None = None,
        **options: Unpack[CallOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def merge(
        self,
        keys: Sequence[ArrayLike],
        *,
        values: Sequence[ArrayLike] | None = None,
        descending: bool = False,
        algorithm: MergeAlgorithm = "auto",
        assume_sorted: bool = False,
        dtype: str | None = None,
        **options: Unpack[CallOptions],
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Merges sorted arrays into one. Stable: equal keys are taken from the earlier array first.

        Args:
            keys: 2 to 1024 arrays of one dtype, each sorted in the direction of `descending`.
            values: as many arrays as `keys`, each as long as its keys, all of one dtype.
            descending: the inputs are sorted, and the result is, greatest first.
            algorithm: how; the answer is the same for all.
            assume_sorted: skip the check that raises InvalidArgument for an unsorted input.
            dtype: as for `sort`.
            **options: see CallOptions.

        Returns:
            All keys in order, or a pair (keys, values).
        """
        request = operators.MergeRequest(
            order=_order(descending),
            algorithm=choice("algorithm", algorithm, MERGE_ALGORITHMS),
            assume_sorted=assume_sorted,
        )
        if len(keys) == 0:
            raise errors.InvalidArgument("keys: needs 2 arrays or more to merge", field="keys")
        pairs = [arrays.keys("keys", array, dtype) for array in keys]
        self._one_dtype("keys", [key_dtype for _, key_dtype in pairs])
        parts = [part for part, _ in pairs]
        if values is None:
            return self.call("Merge", request, parts, operators.MergeResponse, options).array("keys", pairs[0][1])
        moved = [arrays.values("values", array) for array in values]
        self._one_dtype("values", [value_dtype for _, value_dtype in moved])
        parts += [part for part, _ in moved]
        result = self.call("Merge", request, parts, operators.MergeResponse, options)
        return result.array("keys", pairs[0][1]), result.array("values", (moved or pairs)[0][1])

    def expand(self, values: ArrayLike, counts: ArrayLike, **options: Unpack[CallOptions]) -> NDArray[Any]:
        """Repeats values[i] counts[i] times, like np.repeat.

        Args:
            values: shape (n,): any fixed-width dtype of 1 to 256 bytes.
            counts: shape (n,), integers, 0 or more.
            **options: see CallOptions.

        Returns:
            The repeated values, shape (sum of counts,).
        """
        part, dtype = arrays.values("values", values)
        request = operators.ExpandIntervalsRequest()
        parts = [part, arrays.integers("counts", counts)]
        response = operators.ExpandIntervalsResponse
        return self.call("ExpandIntervals", request, parts, response, options).array("values", dtype)

    def move(
        self,
        source: ArrayLike,
        source_offsets: ArrayLike,
        destination_offsets: ArrayLike,
        counts: ArrayLike,
        *,
        destination: int | ArrayLike,
        allow_overlap: bool = False,
        **options: Unpack[CallOptions],
    ) -> NDArray[Any]:
        """Copies many intervals: counts[i] elements from source_offsets[i] to destination_offsets[i], for each i.

        Args:
            source: what to copy from: any fixed-width dtype of 1 to 256 bytes.
            source_offsets: shape (n,); intervals may overlap in the source.
            destination_offsets: shape (n,); intervals must not overlap in the destination.
            counts: shape (n,), 0 or more.
            destination: what the result holds where no interval goes: an array of the source's dtype (not changed), or
                the length of a new array of zero bytes.
            allow_overlap: skip the check that raises InvalidArgument for overlaps; which copy wins is not stated.
            **options: see CallOptions.

        Returns:
            The destination after all copies, in the dtype of `source`.
        """
        part, dtype = arrays.values("source", source)
        request = operators.MoveIntervalsRequest(allow_overlap=allow_overlap)
        parts = [
            part,
            arrays.integers("source_offsets", source_offsets),
            arrays.integers("destination_offsets", destination_offsets),
            arrays.integers("counts", counts),
            *self._destination(request, destination, dtype),
        ]
        response = operators.MoveIntervalsResponse
        return self.call("MoveIntervals", request, parts, response, options).array("result", dtype)

    def gather(
        self, source: ArrayLike, source_offsets: ArrayLike, counts: ArrayLike, **options: Unpack[CallOptions]
    ) -> NDArray[Any]:
        """Copies intervals source[source_offsets[i]:][:counts[i]], one after the other, into a dense result.

        Args:
            source: what to copy from: any fixed-width dtype of 1 to 256 bytes.
            source_offsets: shape (n,); intervals may overlap.
            counts: shape (n,), 0 or more.
            **options: see CallOptions.

        Returns:
            The intervals, shape (sum of counts,).
        """
        part, dtype = arrays.values("source", source)
        parts = [part, arrays.integers("source_offsets", source_offsets), arrays.integers("counts", counts)]
        request, response = operators.GatherIntervalsRequest(), operators.GatherIntervalsResponse
        return self.call("GatherIntervals", request, parts, response, options).array("result", dtype)

    def scatter(
        self,
        source: ArrayLike,
        destination_offsets: ArrayLike,
        counts: ArrayLike,
        *,
        destination: int | ArrayLike,
        allow_overlap: bool = False,
        **options: Unpack[CallOptions],
    ) -> NDArray[Any]:
        """Cuts a dense source into intervals of counts[i] elements and copies each to destination_offsets[i].

        Args:
            source: what to copy from, shape (sum of counts,): any fixed-width dtype of 1 to 256 bytes.
            destination_offsets: shape (n,); intervals must not overlap.
            counts: shape (n,), 0 or more.
            destination: as for `move`.
            allow_overlap: as for `move`.
            **options: see CallOptions.

        Returns:
            The destination after all copies, in the dtype of `source`.
        """
        part, dtype = arrays.values("source", source)
        request = operators.ScatterIntervalsRequest(allow_overlap=allow_overlap)
        parts = [
            part,
            arrays.integers("destination_offsets", destination_offsets),
            arrays.integers("counts", counts),
            *self._destination(request, destination, dtype),
        ]
        response = operators.ScatterIntervalsResponse
        return self.call("ScatterIntervals", request, parts, response, options).array("result", dtype)

    def load_balance(
        self, counts: ArrayLike, *, index_dtype: DTypeLike | None = np.intp, **options: Unpack[CallOptions]
    ) -> LoadBalance:
        """For each work item: the object that made it, and its rank among that object's items.

        Args:
            counts: shape (n,): how many items each object makes, 0 or more.
            index_dtype: dtype of the results; None: the server's uint32 or uint64.
            **options: see CallOptions.

        Returns:
            LoadBalance(objects, ranks), each of shape (sum of counts,).
        """
        parts = [arrays.integers("counts", counts)]
        result = self.call("LoadBalance", operators.LoadBalanceRequest(), parts, operators.LoadBalanceResponse, options)
        return LoadBalance(result.indices("objects", index_dtype), result.indices("ranks", index_dtype))

    def search(
        self,
        haystack: ArrayLike,
        needles: ArrayLike,
        *,
        side: Literal["left", "right"] = "left",
        descending: bool = False,
        assume_sorted: bool = False,
        dtype: str | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> NDArray[Any]:
        """Where needles belong in a sorted array, like np.searchsorted.

        Args:
            haystack: shape (n,), sorted in the direction of `descending`.
            needles: shape (m,), in any order. Another dtype is converted if no needle changes by it.
            side: "left": the first position whose key does not come before the needle; "right": the first whose key
                comes after it.
            descending: the haystack is sorted greatest first.
            assume_sorted: skip the check that raises InvalidArgument for an unsorted haystack.
            dtype: as for `sort`.
            index_dtype: dtype of the result; None: the server's uint32 or uint64.
            **options: see CallOptions.

        Returns:
            Positions from 0 to n, shape (m,).
        """
        sorted_part, key_dtype = arrays.keys("haystack", haystack, dtype)
        needle_part, _ = arrays.keys("needles", arrays.like("needles", needles, key_dtype), dtype)
        request = operators.SearchRequest(
            bound=choice("side", side, _SIDES), order=_order(descending), assume_sorted=assume_sorted
        )
        result = self.call("Search", request, [sorted_part, needle_part], operators.SearchResponse, options)
        return result.indices("positions", index_dtype)

    def info(self, **options: Unpack[CallOptions]) -> ServerInfo:
        """What the server is and what it takes. Never waits behind other calls."""
        result = self.call(
            "GetServerInfo", service.GetServerInfoRequest(), [], service.GetServerInfoResponse, options
        ).message
        limits = result.limits
        return ServerInfo(
            version=result.version,
            engine=ENGINES.get(result.engine, "unspecified"),
            device=result.device,
            engine_reason=result.engine_reason,
            device_memory_bytes=result.device_memory_bytes,
            lanes=result.lanes,
            limits=ServerLimits(**{field.name: getattr(limits, field.name) for field in limits.DESCRIPTOR.fields}),
            places=tuple(result.places),
            uptime_seconds=result.uptime_seconds,
        )

    @staticmethod
    def _sort_request(
        keys: ArrayLike,
        descending: bool,
        algorithm: str,
        segments: ArrayLike | None,
        limit: int | None,
        dtype: str | None,
    ) -> tuple[operators.SortRequest, list[OutgoingArray], np.dtype[Any]]:
        part, key_dtype = arrays.keys("keys", keys, dtype)
        request = operators.SortRequest(
            order=_order(descending), algorithm=choice("algorithm", algorithm, SORT_ALGORITHMS)
        )
        if limit is not None:
            request.limit = limit
        parts = [part]
        if segments is not None:
            parts.append(arrays.integers("segment_offsets", segments))
        return request, parts, key_dtype

    @staticmethod
    def _one_dtype(field: str, dtypes: Sequence[np.dtype[Any]]) -> None:
        for at, dtype in enumerate(dtypes):
            if dtype != dtypes[0]:
                raise TypeError(f"{field}[{at}] is {dtype}, {field}[0] is {dtypes[0]}; all must be of one dtype")

    @staticmethod
    def _destination(
        request: operators.MoveIntervalsRequest | operators.ScatterIntervalsRequest,
        destination: int | ArrayLike,
        dtype: np.dtype[Any],
    ) -> list[OutgoingArray]:
        if isinstance(destination, (int, np.integer)):
            request.destination_count = int(destination)
            return []
        part, found = arrays.values("destination", destination)
        if found != dtype:
            raise TypeError(f"destination is {found}, source is {dtype}; they must be of one dtype")
        return [part]

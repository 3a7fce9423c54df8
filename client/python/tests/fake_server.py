"""A corank server of NumPy in this process: the test double of the unit tests.

It answers as the contract says, checks what the tests of errors need, and fails on demand (`fail_next`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any, NoReturn

import fake_columns
import fake_selection
import grpc
import numpy as np
import oracles
from fake_arrays import (
    NAMES,
    STATS,
    Refused,
    check_sorted,
    indices,
    is_descending,
    like,
    numbers,
    read,
    segment_offsets,
)
from fake_execute import Executor
from fake_memory import DEVICE_UUID, PREFIX, Call, Failure, Places
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from corank.v1 import corank_service_pb2 as service
from corank.v1 import group_pb2, join_pb2, operators_pb2, rank_pb2, select_pb2, sets_pb2
from corank.v1 import memory_service_pb2 as memory


def _sort(request: Any) -> Any:
    if request.key_columns:
        return fake_columns.sort(request)
    keys = read("keys", request.keys)
    name, descending = NAMES[request.keys.type], is_descending(request)
    offsets = segment_offsets(request, len(keys))
    order = oracles.segmented_argsort(keys, offsets, name, descending)
    if request.offset > 0:
        if request.HasField("segment_offsets"):
            raise Refused("offset", "is not for segments")
        order = order[request.offset :]
        offsets = [0, len(order)]
    if request.HasField("limit"):
        if request.limit < 0:
            raise Refused("limit", f"is {request.limit}, must be 0 or more")
        order = oracles.first_of_each(order, offsets, request.limit)
    taken = request.algorithm
    if taken == operators_pb2.SORT_ALGORITHM_AUTO:
        taken = operators_pb2.SORT_ALGORITHM_MERGESORT
    response = operators_pb2.SortResponse(algorithm=taken, stats=STATS)
    if request.output != operators_pb2.SORT_OUTPUT_INDICES:
        response.keys.CopyFrom(like(request.keys, keys[order]))
    if request.output != operators_pb2.SORT_OUTPUT_KEYS:
        response.indices.CopyFrom(indices(order))
    if request.HasField("values"):
        values = read("values", request.values)
        if len(values) != len(keys):
            raise Refused("values", f"has {len(values)} elements for {len(keys)} keys")
        response.values.CopyFrom(like(request.values, values[order]))
    return response


def _merge(request: Any) -> Any:
    if len(request.keys) < 2:
        raise Refused("keys", f"has {len(request.keys)} arrays, needs 2 to 1024")
    inputs = [read(f"keys[{i}]", array) for i, array in enumerate(request.keys)]
    for i, keys in enumerate(inputs):
        check_sorted(f"keys[{i}]", keys, request, request.keys[0].type)
    joined = np.concatenate(inputs)
    order = oracles.argsort(joined, NAMES[request.keys[0].type], is_descending(request))
    response = operators_pb2.MergeResponse(
        keys=like(request.keys[0], joined[order]), algorithm=operators_pb2.MERGE_ALGORITHM_TILED, stats=STATS
    )
    if request.values:
        values = np.concatenate([read(f"values[{i}]", array) for i, array in enumerate(request.values)])
        response.values.CopyFrom(like(request.values[0], values[order]))
    return response


def _expand(request: Any) -> Any:
    values, counts = read("values", request.values), read("counts", request.counts)
    if (counts < 0).any():
        raise Refused(f"counts[{int(np.argmax(counts < 0))}]", "must be 0 or more")
    return operators_pb2.ExpandIntervalsResponse(values=like(request.values, np.repeat(values, counts)), stats=STATS)


def _move(request: Any) -> Any:
    source, counts = read("source", request.source), read("counts", request.counts)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    gathers = isinstance(request, operators_pb2.GatherIntervalsRequest)
    scatters = isinstance(request, operators_pb2.ScatterIntervalsRequest)
    offsets = starts if scatters else read("source_offsets", request.source_offsets)
    to = starts if gathers else read("destination_offsets", request.destination_offsets)
    if gathers:
        into = np.zeros(int(counts.sum()), source.dtype)
    elif request.WhichOneof("initial") == "destination":
        into = read("destination", request.destination)
    else:
        into = np.zeros(request.destination_count, source.dtype)
    for i, (begin, goal, count) in enumerate(zip(offsets, to, counts)):
        if begin < 0 or begin + count > len(source):
            raise Refused(f"source_offsets[{i}]", f"interval {i} is outside the source")
        if goal < 0 or goal + count > len(into):
            raise Refused(f"destination_offsets[{i}]", f"interval {i} is outside the destination")
    response_type = {
        operators_pb2.MoveIntervalsRequest: operators_pb2.MoveIntervalsResponse,
        operators_pb2.GatherIntervalsRequest: operators_pb2.GatherIntervalsResponse,
        operators_pb2.ScatterIntervalsRequest: operators_pb2.ScatterIntervalsResponse,
    }[type(request)]
    out = oracles.move(source, offsets.tolist(), to.tolist(), counts.tolist(), into)
    return response_type(result=like(request.source, out), stats=STATS)


def _load_balance(request: Any) -> Any:
    objects, ranks = oracles.load_balance(read("counts", request.counts))
    return operators_pb2.LoadBalanceResponse(objects=indices(objects), ranks=indices(ranks), stats=STATS)


def _search(request: Any) -> Any:
    if request.haystack_columns:
        return fake_columns.search(request)
    haystack, needles = read("haystack", request.haystack), read("needles", request.needles)
    check_sorted("haystack", haystack, request, request.haystack.type)
    side = "right" if request.bound == operators_pb2.SEARCH_BOUND_UPPER else "left"
    found = oracles.search(haystack, needles, NAMES[request.haystack.type], side, is_descending(request))
    return operators_pb2.SearchResponse(positions=indices(found), stats=STATS)


def _group(request: Any) -> Any:
    keys = read("keys", request.keys)
    arrangement = {group_pb2.GROUP_INPUT_SORTED: "sorted", group_pb2.GROUP_INPUT_RUNS: "runs"}.get(
        request.input, "unsorted"
    )
    name, descending = NAMES[request.keys.type], is_descending(request)
    if arrangement == "sorted":
        index = oracles.first_unsorted(keys, name, descending)
        if index is not None:
            raise Refused("keys", f"element {index} is out of order")
    order, starts, counts = oracles.groups(keys, name, arrangement, descending)
    response = group_pb2.GroupResponse(stats=STATS)
    for output in request.outputs:
        if output == group_pb2.GROUP_OUTPUT_KEYS:
            response.keys.CopyFrom(like(request.keys, keys[order][starts]))
        elif output == group_pb2.GROUP_OUTPUT_COUNTS:
            response.counts.CopyFrom(numbers("ELEMENT_TYPE_INT64", counts.astype("<i8")))
        elif output == group_pb2.GROUP_OUTPUT_FIRSTS:
            response.firsts.CopyFrom(indices(order[starts]))
        else:
            values, of = read("values", request.values)[order], NAMES[request.values.type]
            valid = np.ones(len(values), bool)
            if request.HasField("values_validity"):
                bitmap = read("values_validity", request.values_validity)
                valid = np.unpackbits(bitmap, count=len(values), bitorder="little").astype(bool)[order]
            if output == group_pb2.GROUP_OUTPUT_VALUE_COUNTS:
                present = [valid[at : at + count].sum() for at, count in zip(starts, counts)]
                response.value_counts.CopyFrom(numbers("ELEMENT_TYPE_INT64", np.array(present, "<i8")))
            elif output == group_pb2.GROUP_OUTPUT_SUMS:
                try:
                    sums = oracles.sums(values, of, starts, counts, valid)
                except OverflowError as error:
                    raise Refused("values", f"a sum does not fit in 64 bits: {error}") from error
                response.sums.CopyFrom(numbers(f"ELEMENT_TYPE_{sums.dtype.name.upper()}", sums))
            else:
                greatest = output == group_pb2.GROUP_OUTPUT_MAXIMA
                field = response.maxima if greatest else response.minima
                field.CopyFrom(like(request.values, oracles.extremes(values, of, starts, counts, greatest, valid)))
    return response


def _combine_sets(request: Any) -> Any:
    left, right = read("left", request.left), read("right", request.right)
    for field, side in (("left", left), ("right", right)):
        check_sorted(field, side, request, request.left.type)
    operation = sets_pb2.SetOperation.Name(request.operation).removeprefix("SET_OPERATION_").lower()
    found = oracles.combine(left, right, NAMES[request.left.type], operation, is_descending(request))
    if request.count_only:
        count = numbers("ELEMENT_TYPE_INT64", np.array([len(found)], "<i8"))
        return sets_pb2.CombineSetsResponse(count=count, stats=STATS)
    response = sets_pb2.CombineSetsResponse(stats=STATS)
    response.keys.CopyFrom(like(request.left, np.concatenate([left, right])[found]))
    values = [read(each, getattr(request, each)) for each in ("left_values", "right_values") if request.HasField(each)]
    if values:
        response.values.CopyFrom(like(request.left_values, np.concatenate(values)[found]))
    return response


def _join(request: Any) -> Any:
    left, right = read("left", request.left), read("right", request.right)
    how = join_pb2.JoinKind.Name(request.kind).removeprefix("JOIN_KIND_").lower()
    left_rows, right_rows = oracles.join(left, right, NAMES[request.left.type], how)
    if request.count_only:
        count = numbers("ELEMENT_TYPE_INT64", np.array([left_rows.size], "<i8"))
        return join_pb2.JoinResponse(count=count, stats=STATS)
    if request.HasField("max_rows") and left_rows.size > request.max_rows:
        text = f"the result has {left_rows.size} rows"
        raise Refused("max_rows", text, "TOO_MANY_ROWS", rows=str(left_rows.size))
    response = join_pb2.JoinResponse(left_rows=numbers("ELEMENT_TYPE_INT32", left_rows), stats=STATS)
    if how not in ("semi", "anti"):
        response.right_rows.CopyFrom(numbers("ELEMENT_TYPE_INT32", right_rows))
    return response


_METHODS: dict[str, tuple[type[Any], str, Callable[[Any], Any]]] = {
    "Sort": (operators_pb2.SortRequest, "sort", _sort),
    "Merge": (operators_pb2.MergeRequest, "merge", _merge),
    "ExpandIntervals": (operators_pb2.ExpandIntervalsRequest, "expand_intervals", _expand),
    "MoveIntervals": (operators_pb2.MoveIntervalsRequest, "move_intervals", _move),
    "GatherIntervals": (operators_pb2.GatherIntervalsRequest, "gather_intervals", _move),
    "ScatterIntervals": (operators_pb2.ScatterIntervalsRequest, "scatter_intervals", _move),
    "LoadBalance": (operators_pb2.LoadBalanceRequest, "load_balance", _load_balance),
    "Search": (operators_pb2.SearchRequest, "search", _search),
    "Group": (group_pb2.GroupRequest, "group", _group),
    "CombineSets": (sets_pb2.CombineSetsRequest, "combine_sets", _combine_sets),
    "Join": (join_pb2.JoinRequest, "join", _join),
    "Select": (select_pb2.SelectRequest, "select", fake_selection.select),
    "Rank": (rank_pb2.RankRequest, "rank", fake_selection.rank),
}
GRPC = tuple(int(part) for part in grpc.__version__.split(".")[:2])
"""The version of gRPC in use, such as (1, 60): older ones know less of what went wrong."""
ALL_PLACES = ("inline", "stream", "shared_memory", "cuda_ipc", "stored")


class _Noting(grpc.ServerInterceptor):
    """Notes what comes with every call."""

    def __init__(self, headers: list[tuple[str, dict[str, str]]]) -> None:
        self._headers = headers

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        metadata = {str(key): str(value) for key, value in handler_call_details.invocation_metadata}
        self._headers.append((handler_call_details.method, metadata))
        return continuation(handler_call_details)


class FakeServer:
    """The double, on a free port of 127.0.0.1."""

    def __init__(
        self,
        places: tuple[str, ...] = ALL_PLACES,
        max_request_bytes: int = 1 << 28,
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._failures: list[tuple[grpc.StatusCode, str, list[Any]]] = []
        self.requests: list[Any] = []
        """Every request message of an operator, in order of arrival."""
        self.headers: list[tuple[str, dict[str, str]]] = []
        """Method and metadata of every call, in order of arrival."""
        self.hold: threading.Event | None = None
        """When set: calls wait for it before they answer."""
        self.ended: list[str] = []
        """Operators whose calls ended, also those that the caller ended while the server still works on them."""
        self.raw_answer: bytes | None = None
        """When set: these bytes are every answer."""
        self.on_request: Callable[[Any], None] | None = None
        """When set: is called with each request of an operator."""
        self.asked = 0
        """Calls of GetServerInfo."""
        self.stuck: dict[str, threading.Event] = {}
        """The next call of a method that is neither an operator nor a stream from the client waits for its event."""
        self.left: list[tuple[str, float | None]] = []
        """Method and seconds to the deadline of every such call and every operator's, in order of arrival."""
        self.places = Places()
        """Regions and kept arrays."""
        self.executor = Executor(self.places, {name: function for _, name, function in _METHODS.values()})
        """Execute."""
        self._info = service.GetServerInfoResponse(
            version="0.1.0",
            engine=operators_pb2.ENGINE_CPU,
            device="NumPy",
            engine_reason="this is a test double",
            device_memory_bytes=1 << 30,
            lanes=1,
            limits=service.ServerLimits(
                max_request_bytes=max_request_bytes,
                max_response_bytes=max_request_bytes,
                max_queued_requests=8,
                max_queued_bytes=1 << 30,
                max_chunk_bytes=1 << 20,
                max_parts=8,
            ),
            places=places,
            uptime={"seconds": 1, "nanos": 500_000_000},
            shared_memory_prefixes=[PREFIX],
            device_uuid=DEVICE_UUID,
        )
        size = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self._server = grpc.server(futures.ThreadPoolExecutor(16), options=size, interceptors=[_Noting(self.headers)])
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler("corank.v1.CorankService", self._corank_handlers()),
                grpc.method_handlers_generic_handler("corank.v1.MemoryService", self._memory_handlers()),
            )
        )
        if credentials is None:
            port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self.address = f"127.0.0.1:{port}"
        self._server.start()

    def stop(self) -> None:
        """Stops at once."""
        self._server.stop(None).wait()

    def fail_next(
        self,
        code: grpc.StatusCode,
        message: str,
        *,
        reason: str = "",
        cause: str = "",
        field: str = "",
        retry_after: float | None = None,
        times: int = 1,
    ) -> None:
        """Lets the next `times` calls fail, with these details."""
        details: list[Any] = _retry_info(retry_after)
        if reason:
            metadata = {"cause": cause} if cause else {}
            details.append(error_details_pb2.ErrorInfo(reason=reason, domain="corank", metadata=metadata))
        if field:
            violation = error_details_pb2.BadRequest.FieldViolation(field=field, description=message)
            details.append(error_details_pb2.BadRequest(field_violations=[violation]))
        with self._lock:
            self._failures += [(code, message, details)] * times

    def _serialise(self, message: Any) -> bytes:
        return message.SerializeToString() if self.raw_answer is None else self.raw_answer

    def _corank_handlers(self) -> dict[str, Any]:
        def info(_: Any, context: grpc.ServicerContext) -> Any:
            self.asked += 1
            self._arrive("GetServerInfo", context)
            return self._info

        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                self._handler(operation, function), request_type.FromString, self._serialise
            )
            for name, (request_type, operation, function) in _METHODS.items()
        }
        handlers["GetServerInfo"] = grpc.unary_unary_rpc_method_handler(
            info, service.GetServerInfoRequest.FromString, self._serialise
        )
        handlers["Execute"] = grpc.stream_stream_rpc_method_handler(
            self._failing_stream(self.executor.execute), service.ExecuteRequest.FromString, self._serialise
        )
        return handlers

    def _memory_handlers(self) -> dict[str, Any]:
        places = self.places
        unary: dict[str, tuple[Any, Callable[[Any], Any]]] = {
            "RegisterSharedMemory": (memory.RegisterSharedMemoryRequest, places.register_shared_memory),
            "RegisterCudaIpc": (memory.RegisterCudaIpcRequest, places.register_cuda_ipc),
            "ListRegions": (memory.ListRegionsRequest, places.list_regions),
            "UnregisterRegion": (memory.UnregisterRegionRequest, places.unregister_region),
            "ListArrays": (memory.ListArraysRequest, places.list_arrays),
            "DeleteArray": (memory.DeleteArrayRequest, places.delete_array),
        }

        def checked(name: str, function: Callable[[Any], Any]) -> Callable[[Any, grpc.ServicerContext], Any]:
            def handle(request: Any, context: grpc.ServicerContext) -> Any:
                self._arrive(name, context)
                try:
                    return function(request)
                except Failure as failure:
                    _abort(context, "", failure.code, str(failure), _retry_info(failure.retry_after))

            return handle

        def lease(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            self._arrive("OpenLease", context)
            yield from places.open_lease(request, context)

        def fetch(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            try:
                yield from places.fetch_array(request)
            except Failure as failure:
                _abort(context, "", failure.code, str(failure), _retry_info(failure.retry_after))

        handlers: dict[str, Any] = {
            name: grpc.unary_unary_rpc_method_handler(checked(name, function), kind.FromString, self._serialise)
            for name, (kind, function) in unary.items()
        }
        handlers["OpenLease"] = grpc.unary_stream_rpc_method_handler(
            lease, memory.OpenLeaseRequest.FromString, self._serialise
        )
        handlers["StoreArray"] = grpc.stream_unary_rpc_method_handler(
            checked("StoreArray", places.store_array), memory.StoreArrayRequest.FromString, self._serialise
        )
        handlers["FetchArray"] = grpc.unary_stream_rpc_method_handler(
            fetch, memory.FetchArrayRequest.FromString, self._serialise
        )
        return handlers

    def _arrive(self, method: str, context: grpc.ServicerContext) -> None:
        with self._lock:
            self.left.append((method, context.time_remaining()))
            event = self.stuck.pop(method, None)
        if event is not None and not event.wait(30):
            context.abort(grpc.StatusCode.INTERNAL, f"{method}: nobody let it go on")

    def _next_failure(self) -> tuple[grpc.StatusCode, str, list[Any]] | None:
        with self._lock:
            return self._failures.pop(0) if self._failures else None

    def _failing_stream(self, function: Callable[[Any, grpc.ServicerContext], Iterator[Any]]) -> Any:
        def handle(requests: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            failure = self._next_failure()
            if failure is not None:
                _abort(context, "streamed", *failure)
            try:
                yield from function(requests, context)
            except Failure as failed:
                _abort(context, "streamed", failed.code, str(failed), _retry_info(failed.retry_after))
            except Refused as refused:
                _abort_refused(context, "streamed", refused)
            context.set_trailing_metadata((("x-request-id", "streamed"),))

        return handle

    def _handler(self, operation: str, function: Callable[[Any], Any]) -> Callable[[Any, grpc.ServicerContext], Any]:
        def handle(request: Any, context: grpc.ServicerContext) -> Any:
            context.add_callback(lambda: self.ended.append(operation))
            request_id = request.options.request_id or "made-by-server"
            self._arrive(operation, context)
            with self._lock:
                self.requests.append(request)
            failure = self._next_failure()
            if self.on_request is not None:
                self.on_request(request)
            if self.hold is not None:
                self.hold.wait(30)
            if failure is not None:
                _abort(context, request_id, *failure)
            call = Call()
            try:
                self.places.bring(request, call)
                answer = function(request)
                self.places.deliver(operation, request, answer, call)
            except Refused as refused:
                _abort_refused(context, request_id, refused)
            except Failure as failed:
                _abort(context, request_id, failed.code, str(failed), _retry_info(failed.retry_after))
            context.set_trailing_metadata((("x-request-id", request_id),))
            return answer

        return handle


def _retry_info(retry_after: float | None) -> list[Any]:
    if retry_after is None:
        return []
    delay = duration_pb2.Duration()
    delay.FromNanoseconds(int(retry_after * 1e9))
    return [error_details_pb2.RetryInfo(retry_delay=delay)]


def _abort_refused(context: grpc.ServicerContext, request_id: str, refused: Refused) -> NoReturn:
    violation = error_details_pb2.BadRequest.FieldViolation(field=refused.field, description=str(refused))
    details: list[Any] = [error_details_pb2.BadRequest(field_violations=[violation])]
    if refused.reason:
        details.append(error_details_pb2.ErrorInfo(reason=refused.reason, domain="corank", metadata=refused.metadata))
    _abort(context, request_id, grpc.StatusCode.INVALID_ARGUMENT, f"{refused.field}: {refused}", details)


def _abort(
    context: grpc.ServicerContext, request_id: str, code: grpc.StatusCode, message: str, details: list[Any]
) -> NoReturn:
    status = status_pb2.Status(code=code.value[0], message=message)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    context.set_trailing_metadata(
        (("x-request-id", request_id), ("grpc-status-details-bin", status.SerializeToString()))
    )
    context.abort(code, message)
    raise AssertionError("abort returned")

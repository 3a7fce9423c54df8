"""The fault server: forwards calls to a real server, and breaks them as vectors say.

Calls pass a TCP proxy, which cuts and stalls at a byte, and then a gRPC proxy, which refuses calls and answers garbage.
Both forward what no fault is for. The fault server notes every call that arrives.
"""

from __future__ import annotations

import base64
import socket
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass
from typing import Any

import paths  # noqa: F401

# isort: split
import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from tcp_proxy import TcpProxy

Fault = dict[str, Any]
_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
]
# gRPC adds these itself.
_OWN = ("user-agent", "content-type", "te", "grpc-accept-encoding", "grpc-encoding", "grpc-timeout")
_POLL_SECONDS = 0.002


@dataclass
class Arrival:
    """A call that arrived."""

    method: str
    at: float
    """time.monotonic()."""
    metadata: dict[str, str]
    left_s: float | None
    """Seconds to the deadline."""
    peer: str


def status_details(fault: Fault) -> bytes:
    """The value of grpc-status-details-bin of a refusal."""
    code = grpc.StatusCode[fault["code"]].value[0]
    found = status_pb2.Status(code=code, message=fault["message"])
    details: list[Any] = []
    if fault.get("retry_after_s") is not None:
        delay = duration_pb2.Duration()
        delay.FromNanoseconds(round(fault["retry_after_s"] * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    if fault.get("field"):
        violation = error_details_pb2.BadRequest.FieldViolation(field=fault["field"], description=fault["message"])
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if fault.get("reason"):
        metadata = {"cause": fault["cause"]} if "cause" in fault else {}
        domain = fault.get("domain", "corank")
        details.append(error_details_pb2.ErrorInfo(reason=fault["reason"], domain=domain, metadata=metadata))
    for detail in details:
        wrapped = any_pb2.Any()
        wrapped.Pack(detail)
        found.details.append(wrapped)
    return bytes(found.SerializeToString())


def _joined(pieces: list[str | int]) -> bytes:
    """A message of pieces: base64, or a number of zeros."""
    return b"".join(bytes(piece) if isinstance(piece, int) else base64.b64decode(piece) for piece in pieces)


class FaultServer:
    """The fault server, on a free port of 127.0.0.1."""

    def __init__(self, upstream: str) -> None:
        self._channel = grpc.insecure_channel(upstream, options=_OPTIONS)
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self.arrivals: list[Arrival] = []
        """The calls since `begin`."""
        self._ended = threading.Event()
        self._server = self._serve()
        self._proxy = TcpProxy(f"127.0.0.1:{self._port}")
        self._proxy.__enter__()
        self.address = self._proxy.address
        self._watch = threading.Event()
        self._cutter = threading.Thread()
        self._late = _Late(self.address)

    @property
    def late_address(self) -> str:
        """An address where nobody listens until the fault "late" says so."""
        return self._late.address

    def _serve(self) -> grpc.Server:
        server = grpc.server(futures.ThreadPoolExecutor(64), options=_OPTIONS)
        server.add_generic_rpc_handlers((_Handler(self._forward),))
        self._port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        return server

    def begin(self, faults: list[Fault]) -> None:
        """Forgets the calls and faults before, and uses these from now on."""
        self._stop_watching()
        self._proxy.release()
        with self._lock:
            self._faults = [dict(fault) for fault in faults]
            self.arrivals = []
            self._begun = self._proxy.accepted
        for fault in faults:
            if fault["do"] in ("cut", "stall"):
                self._break_at(fault)
            elif fault["do"] == "late":
                self._late.stop()
                self._late = _Late(self.address)
                threading.Timer(fault["after_s"], self._late.listen).start()

    def _break_at(self, fault: Fault) -> None:
        """Holds a direction after some bytes; a cut then closes the connections."""
        way = self._proxy.down if fault["direction"] == "down" else self._proxy.up
        way.hold(fault["after_bytes"])
        self._watch = watch = threading.Event()
        if fault["do"] == "stall":
            return

        def cut() -> None:
            while not watch.wait(_POLL_SECONDS):
                if way.is_stopped and self._proxy.accepted > self._begun:
                    self._proxy.cut()
                    way.release()
                    return

        self._cutter = threading.Thread(target=cut, daemon=True)
        self._cutter.start()

    def _stop_watching(self) -> None:
        """Waits for the thread that cuts: it would release what the next fault holds."""
        self._watch.set()
        if self._cutter.ident is not None:
            self._cutter.join()

    def disconnect(self) -> None:
        """Closes every connection, so that the next vector begins with none."""
        self._stop_watching()
        self._proxy.release()
        self._proxy.cut()

    def stop(self) -> None:
        """Ends it."""
        self._ended.set()
        self.disconnect()
        self._late.stop()
        self._proxy.__exit__(None, None, None)
        self._server.stop(None)
        self._channel.close()

    def _next(self, method: str) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if (
                    fault["do"] in ("cut", "stall", "late")
                    or fault.get("method", method) != method
                    or fault.get("times") == 0
                ):
                    continue
                if fault.get("skip", 0) > 0:
                    fault["skip"] -= 1
                    continue
                fault["times"] = fault.get("times", 1) - 1
                return fault
        return None

    def _forward(self, path: str, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        method = path.rpartition("/")[2]
        metadata = {str(key): str(value) for key, value in context.invocation_metadata()}
        arrival = Arrival(method, time.monotonic(), metadata, context.time_remaining(), context.peer())
        with self._lock:
            self.arrivals.append(arrival)
        fault = self._next(method)
        if fault is None:
            yield from self._pass(path, requests, context)
        else:
            yield from self._broken(fault, path, requests, context)

    def _pass(self, path: str, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        kept = tuple((key, value) for key, value in context.invocation_metadata() if key not in _OWN)
        method: Any = self._channel.stream_stream(path)
        call = method(requests, timeout=context.time_remaining(), metadata=kept)
        context.add_callback(call.cancel)
        try:
            yield from call
        except grpc.RpcError:
            context.set_code(call.code())
            context.set_details(call.details())
        context.set_trailing_metadata(call.trailing_metadata() or ())

    def _broken(
        self, fault: Fault, path: str, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        do = fault["do"]
        if do == "refuse":
            yield from self._refuse(fault, requests, context)
        elif do == "answer":
            for _ in requests:
                pass
            yield from map(_joined, fault["messages"])
        elif do == "hang":
            while context.is_active() and not self._ended.wait(0.01):
                pass
        elif do == "disconnect":
            # The work may be done, with the answer lost.
            for _ in self._pass(path, requests, context) if fault.get("done") else requests:
                pass
            # The proxy learns of a new connection a moment after the first bytes of it came through.
            while context.is_active() and not self._ended.wait(_POLL_SECONDS):
                self._proxy.cut()
        elif do == "truncate":
            for at, message in enumerate(self._pass(path, requests, context)):
                if at == fault["messages"]:
                    return
                yield message
        elif do == "drain":
            old, self._server = self._server, self._serve()
            self._proxy.target = ("127.0.0.1", self._port)
            old.stop(20)  # tells clients to go away, and lets this call end
            yield from self._pass(path, requests, context)
        else:
            raise ValueError(f"no fault {do!r}")

    def _refuse(self, fault: Fault, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        if not fault.get("early"):
            for _ in requests:
                pass
        context.set_code(grpc.StatusCode[fault["code"]])
        context.set_details(fault["message"])
        trailing: list[tuple[str, str | bytes]] = [("x-request-id", fault.get("request_id", "from-the-fault-server"))]
        if any(fault.get(name) is not None for name in ("retry_after_s", "field", "reason")):
            trailing.append(("grpc-status-details-bin", status_details(fault)))
        context.set_trailing_metadata(tuple(trailing))
        yield from ()


class _Late:
    """A port of 127.0.0.1 that is taken, where nobody listens at first."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._lock = threading.Lock()
        self._proxy: TcpProxy | None = None
        self._stopped = False

    def listen(self) -> None:
        """From now on connections come through."""
        with self._lock:
            if not self._stopped:
                self._socket.listen()
                self._proxy = TcpProxy(self._target, self._socket)
                self._proxy.__enter__()

    def stop(self) -> None:
        """Ends it."""
        with self._lock:
            self._stopped = True
            if self._proxy is None:
                self._socket.close()
            else:
                self._proxy.__exit__(None, None, None)


class _Handler(grpc.GenericRpcHandler):
    """Takes every method as a stream of bytes each way."""

    def __init__(self, forward: Any) -> None:
        self._forward = forward

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        path = handler_call_details.method
        return grpc.stream_stream_rpc_method_handler(lambda requests, context: self._forward(path, requests, context))

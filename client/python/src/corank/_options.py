"""The options of calls and clients, and the names of choices."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Literal, TypedDict, Union

from corank import _errors as errors
from corank._credentials import traceparent
from corank._elements import whole
from corank._progress import Progress
from corank._regions import SharedArray
from corank._results import Stats, names
from corank._signatures import F, Shown, taking, texts
from corank.v1 import operators_pb2 as operators

Place = Literal["auto", "inline", "stream", "shared_memory", "cuda_ipc"]
Priority = Literal["low", "normal", "high"]
ProgressOption = Union[bool, None, Callable[[Progress], object]]

MAX_DEADLINE_SECONDS = 1e8
"""Three years. gRPC takes no deadlines of centuries."""
PLACES = ("auto", "inline", "stream", "shared_memory", "cuda_ipc")


class InfoOptions(TypedDict, total=False):
    """Options of `Client.info`; CallOptions says what each does."""

    deadline: float | Literal["auto"] | None
    retries: int
    traceparent: str


class StoreOptions(InfoOptions, total=False):
    """Options of `Client.store`; CallOptions says what each does."""

    progress: ProgressOption


class FetchOptions(StoreOptions, total=False):
    """Options of `StoredArray.fetch`; CallOptions says what each does."""

    out: Any


class ChainOptions(StoreOptions, total=False):
    """Options of `Client.chain`; CallOptions says what each does."""

    priority: Priority
    place: Place
    connections: int
    copy: bool
    request_id: str | None
    on_stats: Callable[[Stats], object] | None


class TableOptions(StoreOptions, total=False):
    """Options of `Client.sort_by` and the other operators on tables; CallOptions says what each does."""

    priority: Priority
    place: Place
    connections: int
    on_stats: Callable[[Stats], object] | None


class LinkOptions(TypedDict, total=False):
    """Options of an operator of a chain; CallOptions says what each does."""

    out: Any
    keep: str | Sequence[str] | None


class CallOptions(ChainOptions, LinkOptions, total=False):
    """Options that every operator takes beside its own arguments, by keyword.

    Attributes:
        deadline: seconds until the call raises DeadlineExceeded, more than 0, retries included; None: no limit; "auto":
            60, and one more for every 16 MiB.
        retries: how often to try again when the server is too busy or cannot be reached.
        traceparent: W3C traceparent of the span that makes the call; the server's log names the trace.
        progress: whether to show how far the call is, or a function that is called with a Progress; see Client.
        priority: "low", "normal" or "high": which waiting request the server takes first.
        place: how NumPy arrays travel: "inline" in the messages, "stream" in chunks, "shared_memory" through memory
            that client and server share, "cuda_ipc" for results on the GPU of the inputs, or "auto", the fastest of
            these.
        connections: over how many connections streamed arrays travel; None: the best for their size.
        copy: False: results may be views of what they arrived in: read-only and perhaps unaligned in an inline
            response, or a block of shared memory. True: results are writable arrays of their own.
        request_id: a name for the request in logs and errors, at most 128 printable ASCII characters; None: the server
            makes one.
        on_stats: a function that is called with the call's Stats before it returns, such as `a_list.append`.
        out: where results go, as in NumPy: an array, or a tuple of arrays for several results, of the results' dtypes
            and lengths; None: new arrays.
        keep: a name, or a sequence of names for several results, under which the server keeps the results; the call
            returns StoredArrays. Sharded("name") divides a result among the GPUs. Positions are kept
            as uint32, or as uint64 where they do not fit, so they cannot be offsets or counts there, which are int64.
    """


CALL_TEXTS = texts(CallOptions)
_OF_CLIENT = ("deadline", "retries", "traceparent", "progress", "place", "connections")
CALL_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(_OF_CLIENT, Shown("<the client's>")),
    "priority": "normal",
    "copy": True,
}


def options_of(options: Any, result: str = "") -> Callable[[F], F]:
    """Decorates a function that takes the options of a TypedDict as **options; see `_signatures.taking`."""
    elsewhere = dict.fromkeys(ChainOptions.__annotations__, "give it to chain()") if options is LinkOptions else {}
    return taking(options.__annotations__, CALL_TEXTS, CALL_DEFAULTS, result, elsewhere)


class ConnectOptions(TypedDict, total=False):
    """Options of `connect` and `Client`.

    Attributes:
        deadline: seconds that a call may take, retries included, unless it says otherwise; None: no limit; "auto": 60,
            and one more for every 16 MiB.
        retries: how often to try again, with growing pauses, when the server is too busy or cannot be reached; the
            client never repeats a call that could do harm when it is done twice.
        progress: None: show how far a call on more than 1 MiB is, on a terminal or in a notebook, once it has taken a
            second. True: show it at once, and elsewhere as a line every 5 seconds. False: do not. A function: call it
            with a Progress about ten times a second, on another thread, and once at the end.
        place: how NumPy arrays travel unless a call says otherwise; see CallOptions.
        connections: over how many connections streamed arrays travel; None: 4 for more than 128 MiB, else 1.
        traceparent: W3C traceparent of calls that name none.
        max_message_bytes: the largest request to send and response to take, in bytes. The server has its own limit.
        tls: use TLS and trust the authorities that gRPC knows. The other tls_ options switch TLS on too.
        tls_ca: a PEM file with the authorities to trust; None: CORANK_SERVER_CA of the environment.
        tls_certificate: a PEM file with this client's certificate; None: CORANK_CLIENT_CERTIFICATE of the environment.
        tls_key: a PEM file with the key of that certificate; None: CORANK_CLIENT_KEY of the environment.
        tls_server_name: the name to expect in the server's certificate, if the address has another.
        token: the token that names the caller. Without TLS it goes to this host only. None: CORANK_TOKEN of the
            environment.
        token_file: a file with the token, which the client reads again when the server refuses the token.
    """

    deadline: float | Literal["auto"] | None
    retries: int
    progress: ProgressOption
    place: Place
    connections: int | None
    traceparent: str | None
    max_message_bytes: int
    tls: bool
    tls_ca: str | os.PathLike[str] | None
    tls_certificate: str | os.PathLike[str] | None
    tls_key: str | os.PathLike[str] | None
    tls_server_name: str | None
    token: str | None
    token_file: str | os.PathLike[str] | None


_CONNECT_DEFAULTS = {"deadline": "auto", "retries": 5, "place": "auto", "max_message_bytes": 2**31 - 1, "tls": False}
connect_options = taking(ConnectOptions.__annotations__, texts(ConnectOptions), _CONNECT_DEFAULTS)
"""Decorates a function that takes **options of ConnectOptions."""


@dataclass(frozen=True)
class Settings:
    """The options of one call, with the client's defaults."""

    deadline: float | Literal["auto"] | None
    retries: int
    progress: ProgressOption
    copy: bool
    on_stats: Callable[[Stats], object] | None
    priority: str | None
    request_id: str | None
    traceparent: str | None
    place: str
    connections: int | None
    out: tuple[Any, ...] | None
    keep: tuple[str, ...] | None


SORT_ALGORITHMS = names("SORT_ALGORITHM_", operators.SortAlgorithm)
MERGE_ALGORITHMS = names("MERGE_ALGORITHM_", operators.MergeAlgorithm)
PRIORITIES = names("PRIORITY_", operators.Priority)

# Names that only responses have: the order that "auto" found the keys in.
_FOUND = ("copy", "reverse", "merge-runs", "count")


def _target(out: Any) -> Any:
    return out.array if isinstance(out, SharedArray) else out


def choice(field: str, name: str, choices: Mapping[str, int], without: Sequence[str] = ("unspecified", *_FOUND)) -> Any:
    """The number of the choice `name` for a request's `field`; InvalidArgument if there is none."""
    if not isinstance(name, str) or name not in choices or name in without:
        known = ", ".join(repr(choice) for choice in choices if choice not in without)
        raise errors.InvalidArgument(f"{field}: {name!r} is none of {known}", field=field)
    return choices[name]


def _deadline(given: Any) -> float | Literal["auto"] | None:
    if given is None or (isinstance(given, str) and given == "auto"):
        return None if given is None else "auto"
    try:
        seconds = float("nan" if isinstance(given, str) else given)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not seconds > 0:
        raise errors.InvalidArgument(
            f"deadline: {given!r} is not a number of seconds of more than 0; None is for no limit", field="deadline"
        )
    return None if math.isinf(seconds) else min(seconds, MAX_DEADLINE_SECONDS)


def settings(options: CallOptions, defaults: CallOptions) -> Settings:
    """The options of a call.

    Raises:
        TypeError: a value is of another type.
        InvalidArgument: a value is none of the choices.
    """
    given: CallOptions = {**defaults, **options}
    place = given.get("place", "auto")
    if place not in PLACES:
        known = ", ".join(map(repr, PLACES))
        raise errors.InvalidArgument(f"place: {place!r} is none of {known}", field="place")
    connections = given.get("connections")
    if connections is not None:
        connections = whole("connections", connections, 1)
    parent = given.get("traceparent")
    out, keep = given.get("out"), given.get("keep")
    if out is not None and keep is not None:
        raise errors.InvalidArgument("out: results go there or are kept on the server, not both", field="out")
    return Settings(
        deadline=_deadline(given.get("deadline")),
        retries=whole("retries", given.get("retries", 0)),
        progress=given.get("progress"),
        copy=given.get("copy", True),
        on_stats=given.get("on_stats"),
        priority=given.get("priority"),
        request_id=given.get("request_id"),
        traceparent=None if parent is None else traceparent(parent),
        place=place,
        connections=connections,
        out=None if out is None else tuple(map(_target, out if isinstance(out, tuple) else (out,))),
        keep=None if keep is None else (keep,) if isinstance(keep, str) else tuple(keep),
    )

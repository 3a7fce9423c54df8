"""What every call may say about how it is done, and the names of choices."""

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
from corank.v1 import operators_pb2 as operators

Place = Literal["auto", "inline", "stream", "shared_memory", "cuda_ipc"]
Priority = Literal["low", "normal", "high"]
ProgressOption = Union[bool, None, Callable[[Progress], object]]

MAX_DEADLINE_SECONDS = 1e8
"""Three years. gRPC takes no deadlines of centuries."""
PLACES = ("auto", "inline", "stream", "shared_memory", "cuda_ipc")


class CallOptions(TypedDict, total=False):
    """What every method takes beside its own arguments, by keyword."""

    deadline: float | Literal["auto"] | None
    """Seconds until DeadlineExceeded, more than 0, retries included; None: no limit. Default: connect()'s."""
    retries: int
    """How often to try again when the server is too busy or cannot be reached. Default: connect()'s."""
    progress: ProgressOption
    """Whether to show how far a call is, or a function that is told so: see `connect`. Default: connect()'s."""
    copy: bool
    """False: results are views of what they arrived in (of an inline response: read-only, maybe unaligned; of shared
    memory: that memory). Default: True, writable arrays of their own."""
    on_stats: Callable[[Stats], object]
    """Called with the call's Stats before it returns; `on_stats=a_list.append` keeps them."""
    priority: Priority
    """What the server takes first when requests wait. Default: "normal"."""
    request_id: str
    """Comes back in logs and errors; at most 128 printable ASCII characters. Default: the server makes one."""
    traceparent: str
    """W3C traceparent of the span that makes the call: the server's log names the trace. Default: connect()'s."""
    place: Place
    """How NumPy arrays travel: "inline" in the messages, "stream" in chunks, "shared_memory" through memory that client
    and server share, "cuda_ipc" for results on the GPU of the inputs. Default: "auto", the fastest that serves."""
    connections: int
    """Over how many connections streamed arrays travel. Default: connect()'s, or the best for their size."""
    out: Any
    """Where results go, as in NumPy: arrays of the results' dtypes and lengths. Default: new ones."""
    keep: str | Sequence[str]
    """The server keeps the results under this name, or these: the method returns StoredArrays. Positions are kept as
    uint32, or uint64 where they do not fit: they cannot be offsets or counts there, which are int64."""


class Security(TypedDict, total=False):
    """What connect() takes about who the server is and who asks."""

    tls: bool
    """Use TLS, and trust the authorities that gRPC knows. The arguments that begin with tls_ use it too."""
    tls_ca: str | os.PathLike[str] | None
    """A PEM file of the authorities to trust. Default: CORANK_SERVER_CA of the environment."""
    tls_certificate: str | os.PathLike[str] | None
    """A PEM file with this client's own certificate. Default: CORANK_CLIENT_CERTIFICATE of the environment."""
    tls_key: str | os.PathLike[str] | None
    """A PEM file with its key. Default: CORANK_CLIENT_KEY of the environment."""
    tls_server_name: str | None
    """The name in the server's certificate, where the address has another."""
    token: str | None
    """What says who asks. Without TLS it goes to this host only. Default: CORANK_TOKEN of the environment."""
    token_file: str | os.PathLike[str] | None
    """The file that holds it, read again when the server does not take what it held."""


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

# What only responses name: what AUTO found the keys to be.
_FOUND = ("copy", "reverse", "merge-runs", "count")


def _target(out: Any) -> Any:
    return out.array if isinstance(out, SharedArray) else out


def choice(field: str, name: str, choices: Mapping[str, int], without: Sequence[str] = ("unspecified", *_FOUND)) -> Any:
    """The number of the choice `name` for a request's `field`; InvalidArgument if there is none."""
    if name not in choices or name in without:
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


def settings(method: str, options: CallOptions, defaults: CallOptions, without: Sequence[str] = ()) -> Settings:
    """The options of a call of `method`, which takes none of the names in `without`.

    Raises:
        TypeError: there is no option of a name, or a value is of another type.
        InvalidArgument: a value is none of the choices.
    """
    unknown = options.keys() - (CallOptions.__annotations__.keys() - set(without))
    if unknown:
        raise TypeError(f"{method}: unexpected keyword argument {min(unknown)!r}")
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

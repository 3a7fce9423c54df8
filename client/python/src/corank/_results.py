"""The results of calls other than arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from corank._text import duration, html_table, size, table
from corank.v1 import operators_pb2 as operators


def names(prefix: str, enum: Any) -> dict[str, int]:
    """The values of a protobuf enum by their names here: SORT_ALGORITHM_RADIX is "radix"."""
    return {name[len(prefix) :].lower().replace("_", "-"): number for name, number in enum.items()}


ENGINES = {number: name for name, number in names("ENGINE_", operators.Engine).items()}


@dataclass(frozen=True, repr=False)
class Stats:
    """The cost of a call. The times of the server's stages add up to the time inside the server."""

    operator: str
    """The method, such as "Sort"."""
    engine: str
    """"cuda" or "cpu"."""
    device: str
    """The device, as the driver or the operating system names it."""
    algorithm: str
    """The algorithm that the server chose, such as "radix"; empty if there is no choice."""
    queue_ns: int
    """Time from the arrival of the whole request to the start of its work."""
    copy_in_ns: int
    """Time of the copies from host memory to the device; 0 on the CPU engine."""
    kernel_ns: int
    """Time of the kernels."""
    copy_out_ns: int
    """Time of the copies from the device to host memory; 0 on the CPU engine."""
    elapsed_ns: int
    """Time from the call to its return, measured by the client: conversion, network and retries included."""
    batch_size: int
    """Requests that went to the device together."""
    workspace_bytes: int
    """Device memory beyond inputs and outputs."""
    request_bytes: int
    """Length of the request message."""
    response_bytes: int
    """Length of the response message."""
    attempts: int
    """Calls made, the first one included."""
    request_id: str
    """The name of the request in the server's log."""
    place: str
    """The place of the call's largest array: "inline", "stream", "shared_memory", "cuda_ipc" or "stored"."""
    runs: int
    """Sorted runs that were merged at the end, where a sort worked in pieces; otherwise 0."""
    out_of_core: bool
    """Arrays waited in host memory: a sort or merge of more than half of ``ServerLimits.max_device_bytes`` worked in
    pieces, or a search or an operator on intervals had streams of more."""
    device_ordinal: int
    """The ordinal in ``ServerInfo.devices`` of the device that did the work."""
    devices: int
    """Devices that did parts of the work, that one included: more than 1 where several shared a large sort."""
    receive_ns: int
    """For streams: time from the first to the last chunk that the server took. Overlaps with the other times."""
    send_ns: int
    """For streams: time from the first to the last chunk that the server sent. Overlaps with the other times."""

    def __repr__(self) -> str:
        stages = ", ".join(f"{name} {value}" for name, value in self._stages().items())
        return f"Stats({self._title()}; {stages}; {self.place})"

    def __str__(self) -> str:
        return table(self._title(), self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._rows())

    def _title(self) -> str:
        how = f" by {self.algorithm}" if self.algorithm else ""
        return f"{self.operator}{how} on {self.engine}, {duration(self.elapsed_ns)}"

    def _stages(self) -> dict[str, str]:
        stages = {"queue": self.queue_ns, "copy in": self.copy_in_ns, "kernels": self.kernel_ns}
        stages["copy out"] = self.copy_out_ns
        return {name: duration(value) for name, value in stages.items()}

    def _rows(self) -> dict[str, str]:
        rows = {
            "device": f"{self.device} ({self.device_ordinal})",
            "place": self.place,
            **self._stages(),
            "batch": f"{self.batch_size} requests",
            "workspace": size(self.workspace_bytes),
            "messages": f"{size(self.request_bytes)} sent, {size(self.response_bytes)} received",
            "attempts": str(self.attempts),
            "request": self.request_id,
        }
        if self.receive_ns or self.send_ns:
            rows["streams"] = f"received for {duration(self.receive_ns)}, sent for {duration(self.send_ns)}"
        if self.runs:
            rows["runs"] = str(self.runs)
        if self.out_of_core:
            rows["out of core"] = "arrays waited in host memory"
        return rows


class LoadBalance(NamedTuple):
    """For each work item: which object made it, and its rank among that object's items."""

    objects: NDArray[Any]
    ranks: NDArray[Any]


_UNASKED: Any = None  # so that callers need not tell type checkers which results they asked for


class Groups(NamedTuple):
    """Groups of equal keys: for each an element of every result that was asked for. The others are None."""

    keys: NDArray[Any] = _UNASKED
    counts: NDArray[Any] = _UNASKED
    firsts: NDArray[Any] = _UNASKED
    sums: NDArray[Any] = _UNASKED
    minima: NDArray[Any] = _UNASKED
    maxima: NDArray[Any] = _UNASKED
    value_counts: NDArray[Any] = _UNASKED


@dataclass(frozen=True)
class ServerLimits:
    """The limits of a server."""

    max_request_bytes: int
    max_response_bytes: int
    max_queued_requests: int
    max_queued_bytes: int
    max_chunk_bytes: int
    max_merge_inputs: int
    max_parts: int
    """Connections over which one array may travel."""
    stream_window_bytes: int
    """Server memory in which the chunks of one call may wait."""
    max_device_bytes: int
    """Device memory of one request; sorts and merges of more than half of it, and streams of searches and intervals of
    more, work out of core."""


@dataclass(frozen=True)
class ServerSetting:
    """One setting of a server's configuration."""

    group: str
    """Such as "queue"."""
    name: str
    """Such as "max-queued-bytes"."""
    value: str
    """The value in use; empty where hidden."""
    default: str
    """The default value."""
    source: str
    """The source of the value: "default", "file", "environment" or "flag"."""
    hidden: bool
    """Whether callers are not told the value."""


@dataclass(frozen=True)
class ServerDevice:
    """A device that does the work of a server."""

    ordinal: int
    """The number that responses, metrics, health services and logs give the device."""
    name: str
    uuid: str
    """The UUID of a GPU, on which "cuda_ipc" may register memory."""
    memory_bytes: int
    up: bool
    """Whether it takes work."""


@dataclass(frozen=True, repr=False)
class ServerInfo:
    """A server's version, engine, devices, limits and settings."""

    version: str
    engine: str
    """"cuda" or "cpu"."""
    device: str
    """The first device, if there are several; so are all fields that follow."""
    engine_reason: str
    """Why the server chose this engine, in words."""
    device_memory_bytes: int
    lanes: int
    """Requests that run at the same time on each device."""
    limits: ServerLimits
    places: tuple[str, ...]
    """Places of arrays that are switched on, such as "inline"."""
    uptime_seconds: float
    shared_memory_prefixes: tuple[str, ...]
    """The prefixes of names of shared memory that clients may register."""
    device_uuid: str
    """The UUID of the GPU in use, if "cuda_ipc" is on."""
    settings: tuple[ServerSetting, ...] = ()
    """The effective configuration, ordered by group."""
    devices: tuple[ServerDevice, ...] = ()
    """The devices that share the work, ordered by ordinal."""

    def __repr__(self) -> str:
        return table(self._title(), self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._rows())

    def _title(self) -> str:
        return f"corankd {self.version} on {self.engine}, up {self.uptime_seconds:,.0f} s"

    def _rows(self) -> dict[str, str]:
        limits = self.limits
        rows = {
            "device": f"{self.device}, {size(self.device_memory_bytes)}",
            "why": self.engine_reason,
            "lanes": f"{self.lanes} requests at the same time",
            "places": ", ".join(self.places),
            "largest request": f"{size(limits.max_request_bytes)}; response {size(limits.max_response_bytes)}",
            "streams": f"chunks of {size(limits.max_chunk_bytes)}, {limits.max_parts} connections",
            "shared memory": ", ".join(self.shared_memory_prefixes) or "off",
            "queue": f"{limits.max_queued_requests:,} requests, {size(limits.max_queued_bytes)}",
        }
        for device in self.devices if len(self.devices) > 1 else ():
            state = "" if device.up else ", down"
            rows[f"device {device.ordinal}"] = f"{device.name}, {size(device.memory_bytes)}{state}"
        for setting in self.settings:
            if setting.source != "default":
                value = "(hidden)" if setting.hidden else setting.value or '""'
                rows[setting.name] = f"{value} ({setting.source})"
        return rows


_SOURCES = {1: "default", 2: "file", 3: "environment", 4: "flag"}


def _setting(found: Any) -> ServerSetting:
    return ServerSetting(
        group=found.group,
        name=found.name,
        value=found.value,
        default=found.default_value,
        source=_SOURCES.get(found.source, "unknown"),
        hidden=found.hidden,
    )


def server_info(found: Any) -> ServerInfo:
    """A GetServerInfoResponse."""
    limits = found.limits
    return ServerInfo(
        version=found.version,
        engine=ENGINES.get(found.engine, "unspecified"),
        device=found.device,
        engine_reason=found.engine_reason,
        device_memory_bytes=found.device_memory_bytes,
        lanes=found.lanes,
        limits=ServerLimits(**{field.name: getattr(limits, field.name) for field in limits.DESCRIPTOR.fields}),
        places=tuple(found.places),
        uptime_seconds=found.uptime.seconds + found.uptime.nanos / 1e9,
        shared_memory_prefixes=tuple(found.shared_memory_prefixes),
        device_uuid=found.device_uuid,
        settings=tuple(_setting(setting) for setting in found.settings),
        devices=tuple(
            ServerDevice(device.ordinal, device.name, device.uuid, device.memory_bytes, device.up)
            for device in found.devices
        ),
    )


def call_stats(
    operator: str, message: Any, algorithms: Mapping[str, int], elapsed_ns: int, place: str, cost: Mapping[str, Any]
) -> Stats:
    """The cost of a call, from its response, the client's clock and its messages."""
    stats = message.stats
    taken = getattr(message, "algorithm", None)
    return Stats(
        operator=operator,
        engine=ENGINES.get(stats.engine, "unspecified"),
        device=stats.device,
        algorithm=next((key for key, number in algorithms.items() if number == taken), ""),
        queue_ns=stats.queue_ns,
        copy_in_ns=stats.copy_in_ns,
        kernel_ns=stats.kernel_ns,
        copy_out_ns=stats.copy_out_ns,
        elapsed_ns=elapsed_ns,
        batch_size=stats.batch_size,
        workspace_bytes=stats.workspace_bytes,
        place=place,
        runs=stats.runs,
        out_of_core=stats.out_of_core,
        device_ordinal=stats.device_ordinal,
        devices=stats.devices,
        receive_ns=stats.receive_ns,
        send_ns=stats.send_ns,
        **cost,
    )

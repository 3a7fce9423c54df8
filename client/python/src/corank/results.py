"""What calls return beside arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray


@dataclass(frozen=True)
class Stats:
    """What a call cost. Times of the server's stages follow each other: their sum is the time inside the server."""

    operator: str
    """The method, such as "Sort"."""
    engine: str
    """"cuda" or "cpu"."""
    device: str
    """The device, as the driver or the operating system names it."""
    algorithm: str
    """What was taken, such as "radix"; empty where there is no choice."""
    queue_ns: int
    """From the arrival of the whole request to the start of its work."""
    copy_in_ns: int
    """From host memory to the device; 0 on the CPU engine."""
    kernel_ns: int
    """The kernels."""
    copy_out_ns: int
    """From the device to host memory; 0 on the CPU engine."""
    elapsed_ns: int
    """From the call to its return, as this client measured it: conversion, network and retries included."""
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


class LoadBalance(NamedTuple):
    """For each work item: which object made it, and its rank among that object's items."""

    objects: NDArray[Any]
    ranks: NDArray[Any]


@dataclass(frozen=True)
class ServerLimits:
    """What a server refuses beyond."""

    max_request_bytes: int
    max_response_bytes: int
    max_queued_requests: int
    max_queued_bytes: int
    max_chunk_bytes: int
    max_merge_inputs: int


@dataclass(frozen=True)
class ServerInfo:
    """What a server is and what it takes."""

    version: str
    engine: str
    """"cuda" or "cpu"."""
    device: str
    engine_reason: str
    """Why this engine was taken, in words."""
    device_memory_bytes: int
    lanes: int
    """Requests that run at the same time."""
    limits: ServerLimits
    places: tuple[str, ...]
    """Places of arrays that are switched on, such as "inline"."""
    uptime_seconds: int

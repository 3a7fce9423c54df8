"""The most memory that this process can have."""

from __future__ import annotations

import functools
import pathlib
import re

_MEMORY = pathlib.Path("/proc/meminfo")
_LIMITS = (
    pathlib.Path("/sys/fs/cgroup/memory.max"),
    pathlib.Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


@functools.cache
def most_bytes() -> int | None:
    """Bytes of memory and swap that the system, or the container of this process, has; None: not known."""
    known = []
    try:
        rows = dict(re.findall(r"^(\w+): +(\d+) kB$", _MEMORY.read_text(), re.MULTILINE))
        known.append((int(rows["MemTotal"]) + int(rows.get("SwapTotal", 0))) << 10)
    except (OSError, KeyError):
        pass
    for path in _LIMITS:
        try:
            known.append(int(path.read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return min(known, default=None)

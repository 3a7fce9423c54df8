"""Names in shared memory that clients left behind which were killed before they could take them away."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time

if sys.platform != "win32":  # where there is no shared memory of this kind either
    import fcntl

_YOUNG_SECONDS = 60.0


def hold(handle: int) -> None:
    """Shows other clients that the object is in use, for as long as it is open or mapped."""
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_SH)


def remove(folder: str, prefix: str) -> None:
    """Takes away what this user's clients left in a folder: objects with a client's name that nobody holds.

    Young ones stay: a client may be about to hold them. `prefix` is the server's, with its slash.
    """
    shape = re.compile(re.escape(prefix[1:]) + r"\d+-[0-9a-f]{16}")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if shape.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove(entry.path)


def _remove(path: str) -> None:
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if status.st_uid != os.geteuid() or time.time() - status.st_mtime < _YOUNG_SECONDS:
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(handle)

"""What this process's clients do where it forks."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Protocol


class Client(Protocol):
    """What lives through a fork."""

    def forked(self) -> None:
        """Begins anew in the child: no thread but this one lives there, and what was locked stays so."""


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def watch(client: Client) -> None:
    """Has `client.forked` called in every child of this process."""
    _clients.add(client)


def _in_child() -> None:
    for client in list(_clients):
        client.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def forever(held: object) -> None:
    """Never finalises `held`, at the end of the process neither: gRPC's objects wait for locks that nobody gives up."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))

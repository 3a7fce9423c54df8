"""Lets the clients of a forked child begin anew."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Protocol


class Client(Protocol):
    """An object that must begin anew in a forked child."""

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
    """Never finalizes `held`, not even at exit, because gRPC's objects would wait for locks that no thread releases."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))

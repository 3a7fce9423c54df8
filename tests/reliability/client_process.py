"""Client processes: one for a test to kill, and one that floods a server.

Usage: client_process.py call ADDRESS PLACE PHASE COUNT   says "ready", and calls once its stdin ends
                                                          (COUNT: of the keys of slow work)
       client_process.py flood ADDRESS TOKEN PLACE COUNT  until it is killed
                                                          (PLACE: inline, stream, shared_memory, kept)
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import conftest  # noqa: F401
import corank
from held_calls import Keys, random_keys
from phases import begin

FLOOD_THREADS = 8


def flood_call(client: corank.Client, place: Any, keys: Keys) -> Callable[[], object]:
    """A function that sorts the keys in a place."""
    if place == "kept":
        name = f"flood-{threading.get_ident()}"
        stored = client.store(name, keys)
        return lambda: client.sort(stored, keep=f"{name}-sorted")
    if place == "shared_memory":
        shared, out = (client.empty_shared(keys.size, keys.dtype) for _ in range(2))
        shared[:] = keys
        return lambda: client.sort(shared, out=out, place=place)
    return lambda: client.sort(keys, place=place)


def flood(address: str, token: str, place: str, count: int) -> None:
    """Sorts `count` keys in every thread, for ever."""
    keys = random_keys(count)

    def ask() -> None:
        with corank.Client(address, token=token, retries=0, progress=False) as client:
            call = flood_call(client, place, keys)
            while True:
                with contextlib.suppress(corank.ResourceExhausted):
                    call()

    for _ in range(FLOOD_THREADS):
        threading.Thread(target=ask).start()


def main() -> int:
    """Returns 0 if the call succeeded."""
    mode, address, *rest = sys.argv[1:]
    if mode == "flood":
        flood(address, rest[0], rest[1], int(rest[2]))
        return 0
    place, phase, count = rest
    keys = random_keys(int(count))
    print("ready", flush=True)
    sys.stdin.read()
    return 0 if begin(place, phase, address, keys).code() == "OK" else 1


if __name__ == "__main__":
    sys.exit(main())

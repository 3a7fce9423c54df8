"""Clients that are processes of their own: one that is to be killed, and one that floods a server.

Usage: client_process.py call ADDRESS PLACE PHASE COUNT   says "ready", and calls once its stdin ends
                                                          (COUNT: of the keys of slow work)
       client_process.py flood ADDRESS TOKEN COUNT        until it is killed
"""

from __future__ import annotations

import contextlib
import sys
import threading

import conftest  # noqa: F401
import corank
from held_calls import random_keys
from phases import begin

FLOOD_THREADS = 8


def flood(address: str, token: str, count: int) -> None:
    """Sorts of `count` keys, as many at a time as there are threads, for ever."""
    keys = random_keys(count)

    def ask() -> None:
        with corank.Client(address, token=token, retries=0, progress=False) as client:
            while True:
                with contextlib.suppress(corank.ResourceExhausted):
                    client.sort(keys, place="inline")

    for _ in range(FLOOD_THREADS):
        threading.Thread(target=ask).start()


def main() -> int:
    """0: the call ended well."""
    mode, address, *rest = sys.argv[1:]
    if mode == "flood":
        flood(address, rest[0], int(rest[1]))
        return 0
    place, phase, count = rest
    keys = random_keys(int(count))
    print("ready", flush=True)
    sys.stdin.read()
    return 0 if begin(place, phase, address, keys).code() == "OK" else 1


if __name__ == "__main__":
    sys.exit(main())

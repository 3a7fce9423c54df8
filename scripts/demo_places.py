"""The part of the demo that sorts the same keys in every place: in a message, a stream, shared memory, and kept."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import corank
import numpy as np
from corank._options import Place
from numpy.typing import NDArray

Array = NDArray[Any]


def sort_in_places(step: Callable[..., None], client: corank.Client, size_bytes: int) -> None:
    """Calls step(operator, data, elements, call, expected) for each place that the server has."""
    allowed = client.info().places
    keys = np.random.default_rng(2014).integers(0, 2**32, size_bytes // 4, dtype=np.uint32)
    expected, size = np.sort(keys), f"{size_bytes >> 20} MiB"
    ways: list[tuple[Place, str]] = [
        ("inline", "in one message"),
        ("stream", "in chunks"),
        ("shared_memory", "copied to shared"),
    ]
    for place, words in ways:
        if place in allowed:
            call = functools.partial(client.sort, keys, place=place)
            step("sort", f"{size} {words}", keys.size, call, (expected,))
    if "shared_memory" in allowed:
        shared = client.empty_shared(keys.size, keys.dtype)
        shared[:] = keys
        out = client.empty_shared(keys.size, keys.dtype)
        call = functools.partial(client.sort, shared, out=out)
        step("sort", f"{size} shared arrays", keys.size, call, (expected,))
    if "stored" in allowed and "stream" in allowed:
        kept = client.store("demo", expected)
        new = keys[: keys.size // 16]

        def chained(**options: Any) -> Array:
            with client.chain(**options) as chain:
                ordered = chain.sort(new)
                merged = chain.merge([kept, ordered])
                first = chain.gather(merged, [0], [1000])
            result: Array = first.result()
            return result

        everything = np.sort(np.concatenate([expected, new]))
        step("chain of 3", f"sort 4, merge {size} kept", kept.count + new.size, chained, (everything[:1000],))
        kept.delete()

"""Draws calls from a seed and makes them through the Python client, alone and in chains."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import corank
import numpy as np
import oracles
import random_intervals
from random_calls import check, same_bytes
from random_operators import Draw, Elements, Input, Operation
from random_plans import OPERATORS, WrongAnswerError

CALLS = 6
"""Of a case."""
# As a value, NumPy's uint16 that holds bfloat16 is uint16.
_TYPES = tuple(name for name in oracles.KEY_TYPES if name != "bfloat16")
_PLACES = ("auto", "auto", "inline", "stream", "stream", "shared_memory")


class ClientCase:
    """A sequence of calls of one client.

    Args:
        address: of the server.
        seed: of all that is drawn.
        max_device_bytes: the server's.
        counts: how many calls of each kind were made, for all cases together.
    """

    def __init__(self, address: str, seed: int, max_device_bytes: int, counts: Counter[str]) -> None:
        self._client = corank.Client(address, deadline=60, retries=200, progress=False)
        self._rng = np.random.default_rng(seed)
        self._most, self._counts, self._prefix = max_device_bytes, counts, f"client-{seed}-"
        self._pool: list[tuple[Elements, Any]] = []
        self._kept: dict[str, Elements] = {}
        self._draw = Draw(self._rng, self._pool, 0, _TYPES)
        self.story: list[str] = []
        """A readable description of each call."""

    def run(self) -> None:
        """Makes the calls; afterwards the server holds nothing of them."""
        with self._client as client:
            try:
                for _ in range(CALLS):
                    self._draw.most_bytes = 6 << 20
                    try:
                        if self._draw.chance(0.5):
                            self._one()
                        else:
                            self._chain()
                    except corank.InvalidArgument as error:
                        if not re.search("keeps for one request|device memory", str(error)):
                            raise
                        self._counts["too large"] += 1
                names = {each.name for each in client.arrays().arrays if each.name.startswith(self._prefix)}
                check(names == set(self._kept), f"kept are {sorted(names)}, and should be {sorted(self._kept)}")
                for name, elements in self._kept.items():
                    self._same(client.stored(name).fetch(), elements, f"kept as {name}")
            finally:
                for each in client.arrays().arrays:
                    if each.name.startswith(self._prefix):
                        client.delete(each)

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"place": self._draw.one(_PLACES)}
        if self._draw.chance(0.3):
            options["connections"] = int(self._rng.integers(1, 5))
        return options

    def _names(self, count: int, taken: set[str]) -> list[str]:
        """Up to this many unused names for arrays to keep."""
        free = [f"{self._prefix}{at}" for at in range(12) if f"{self._prefix}{at}" not in taken]
        names = [free.pop(int(self._rng.integers(len(free)))) for _ in range(min(count, len(free)))]
        taken.update(names)
        for pool in (self._pool, self._draw.pool):
            pool[:] = [each for each in pool if getattr(each[1], "name", "") not in names]
        return names

    def _array(self, given: Input, taken: set[str], in_chain: bool) -> Any:
        """An input in the form in which the client receives it."""
        data = given.elements.data
        if given.held is not None:
            return given.held
        kind = int(self._rng.integers(0, 5))
        # In a chain the client must know the sum of the counts.
        names = self._names(1, taken) if kind == 0 and not (in_chain and given.field == "counts") else []
        for name in names:
            stored = self._client.store(name, data)
            self._kept[name] = given.elements
            self._pool.append((given.elements, stored))
            return stored
        if kind == 1:
            begin = int(self._rng.integers(0, 3))
            shared = self._client.empty_shared(begin + len(data) + 1, data.dtype)[begin : begin + len(data)]
            shared[:] = data
            return shared
        return np.repeat(data, 2)[::2] if kind == 2 and data.nbytes < 1 << 20 else data

    def _targets(self, operation: Operation, arrays: list[Any], taken: set[str]) -> dict[str, Any]:
        """Chooses out=, keep= or neither."""
        results = [each.elements for each in operation.results]
        kind = int(self._rng.integers(0, 4))
        if kind < 2 or any(each.field.startswith("key_columns") for each in operation.inputs):
            return {}
        if kind == 2:
            names = self._names(len(results), taken)
            return {"keep": names[0] if len(names) == 1 else names} if len(names) == len(results) else {}
        out = []
        for each in results:
            same = [
                array
                for given, array in zip(operation.inputs, arrays, strict=True)
                if given.held is None and given.elements.type == each.type and type(array) is np.ndarray
                if array.base is not None and array.flags.writeable and array.nbytes == each.data.nbytes
                if array is not given.elements.data and array.flags.c_contiguous
            ]
            if len(results) == 1 and same and self._draw.chance(0.5):
                out.append(self._draw.one(same))
            elif self._draw.chance(0.5):
                out.append(self._client.empty_shared(len(each.data), each.data.dtype))
            else:
                out.append(np.empty(len(each.data), each.data.dtype))
        return {"out": out[0] if len(out) == 1 else tuple(out)}

    @staticmethod
    def _told(operation: Operation, arrays: list[Any], options: dict[str, Any]) -> str:
        told = [
            f"{each.field} {len(each.elements.data)}x{each.elements.width} {type(array).__name__}"
            for each, array in zip(operation.inputs, arrays, strict=True)
        ]
        named = {name: type(value).__name__ if name == "out" else value for name, value in options.items()}
        return f"{operation.kind}({', '.join(told)}, {named})"

    def _drawn(self, choices: tuple[Any, ...]) -> Operation:
        while True:
            operation: Operation = self._draw.one(choices)(self._draw)
            if operation.python is not None:
                return operation

    def _one(self) -> None:
        self._draw.pool = self._pool
        operation, taken = self._drawn(OPERATORS), set[str]()
        taken |= {each.held.name for each in operation.inputs if isinstance(each.held, corank.StoredArray)}
        arrays = [self._array(each, taken, False) for each in operation.inputs]
        targets = self._targets(operation, arrays, taken)
        options = {**self._options(), **targets}
        self.story.append(self._told(operation, arrays, options))
        assert operation.python is not None
        found = operation.python(self._client, arrays, **options)
        self._counts["calls"] += 1
        self._counts["operators"] += 1
        self._check(operation, found if isinstance(found, tuple) else (found,))

    def _chain(self) -> None:
        self._draw.most_bytes = max(64 << 10, self._most // 16)
        self._draw.pool = pool = list(self._pool)
        taken: set[str] = set()
        made: list[tuple[Operation, tuple[Any, ...]]] = []
        options = self._options()
        told = [f"chain({options})"]
        self.story.append("")
        operators = tuple(each for each in OPERATORS if each.__name__ not in ("sort_columns", "search_columns"))
        with self._client.chain(**options) as chain:
            for _ in range(int(self._rng.integers(2, 7))):
                operation = self._drawn(operators)
                pending = random_intervals.carrier(self._draw, operation.inputs[0].elements)
                steps = [operation]
                if (
                    operation.inputs[0].held is None
                    and operation.inputs[0].field != "counts"
                    and self._draw.chance(0.3)
                ):
                    steps = [pending, operation]
                taken |= {each.held.name for each in operation.inputs if isinstance(each.held, corank.StoredArray)}
                for step in steps:
                    arrays = [self._array(each, taken, True) for each in step.inputs]
                    targets = self._targets(step, arrays, taken) if step is operation else {}
                    told.append(self._told(step, arrays, targets))
                    self.story[-1] = "; ".join(told)
                    assert step.python is not None
                    found = step.python(chain, arrays, **targets)
                    found = found if isinstance(found, tuple) else (found,)
                    made.append((step, found))
                    if step is pending:
                        first = operation.inputs[0]
                        operation.inputs[0] = Input(first.field, first.elements, found[0])
                    if not targets:
                        pool += [(each.elements, one) for each, one in zip(step.results, found, strict=True)]
        self._counts["calls"] += 1
        for operation, found in made:
            self._counts["operators"] += 1
            stayed = [not each._done for each in found]
            results = tuple(None if stays else each.result() for each, stays in zip(found, stayed, strict=True))
            self._check(operation, results)

    def _check(self, operation: Operation, found: tuple[Any, ...]) -> None:
        """Compares results; None means that the result stayed on the server."""
        wanted = list(operation.results)
        for at, each in enumerate(found):
            what = f"{operation.kind}: result {at}"
            check(bool(wanted), f"{what} is one too many")
            result = wanted.pop(0)
            if each is None:
                continue
            if isinstance(each, list):
                offsets = wanted.pop(0).elements
                same_bytes(b"".join(each), result.elements, what)
                lengths = np.cumsum([0, *(len(text) for text in each)]).astype(np.int64)
                same_bytes(lengths.tobytes(), offsets, f"{what}: offsets")
            elif isinstance(each, corank.StoredArray):
                self._kept[each.name] = result.elements
                self._pool.append((result.elements, each))
                self._same(each.fetch(), result.elements, what)
            else:
                self._same(each, result.elements, what)
        check(not wanted, f"{operation.kind}: {len(wanted)} results are missing")

    @staticmethod
    def _same(got: Any, elements: Elements, what: str) -> None:
        if not isinstance(got, np.ndarray):
            raise WrongAnswerError(f"{what} is a {type(got).__name__}")
        check(got.dtype == elements.data.dtype, f"{what} is of {got.dtype}, not of {elements.data.dtype}")
        same_bytes(got.tobytes(), elements, what)

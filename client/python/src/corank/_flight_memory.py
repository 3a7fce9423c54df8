"""The memory of a Flight gateway: a budget of bytes, and the tables that callers keep there under names."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any, Callable, NamedTuple

import pyarrow as pa

from corank._arrow_rows import with_one_dictionary
from corank._errors import InvalidArgument, NotFound, ResourceExhausted

MOST_NAME_BYTES = 128


class Budget:
    """Bytes that calls and kept tables may hold together. Thread-safe."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._used = 0
        self._lock = threading.Lock()

    @property
    def used(self) -> int:
        """The bytes that are held."""
        with self._lock:
            return self._used

    @property
    def free(self) -> int:
        """The bytes that are not."""
        return self.total - self.used

    def take(self, nbytes: int, what: str) -> None:
        """Counts bytes as held.

        Raises:
            InvalidArgument: they are more than the whole budget.
            ResourceExhausted: they are more than the rest of it.
        """
        if nbytes > self.total:
            raise InvalidArgument(
                f"{what}: needs {nbytes:,} bytes, and the gateway has {self.total:,}; send smaller tables, or start it "
                "with more --memory"
            )
        with self._lock:
            if self._used + nbytes > self.total:
                raise ResourceExhausted(
                    f"{what}: needs {nbytes:,} bytes, and {self.total - self._used:,} of {self.total:,} are free; try "
                    "again later, drop kept tables, or start the gateway with more --memory"
                )
            self._used += nbytes

    def give(self, nbytes: int) -> None:
        """Counts bytes as free again."""
        with self._lock:
            self._used -= nbytes


class Hold:
    """Bytes of a budget. They are free again after `free`, or when nothing refers to this any more."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self.nbytes = budget, 0

    def resize(self, nbytes: int, what: str) -> None:
        """Takes more bytes or gives some back; raises as `Budget.take` does, and then holds what it held."""
        if nbytes > self.nbytes:
            self._budget.take(nbytes - self.nbytes, what)
        else:
            self._budget.give(self.nbytes - nbytes)
        self.nbytes = nbytes

    def free(self) -> None:
        """Gives all bytes back."""
        self.resize(0, "")

    def __del__(self) -> None:
        self.free()


class Held(NamedTuple):
    """A table and the bytes that are counted for it."""

    table: Any
    hold: Hold


class _Entry:
    def __init__(self, held: Held, end: float) -> None:
        self.held, self.end = held, end


class Listed(NamedTuple):
    """A kept table in a list."""

    name: str
    table: Any
    nbytes: int
    seconds: float
    """How long it is kept from now on, if nobody uses it."""


class KeptTables:
    """Tables by owner and name, each until it was not used for `seconds`. Thread-safe."""

    def __init__(self, quota: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._quota, self._seconds, self._clock = quota, seconds, clock
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, str], _Entry] = {}

    def put(self, owner: str, name: str, held: Held) -> None:
        """Keeps a table, in place of one of the same name.

        Raises:
            ResourceExhausted: the owner's tables would be larger than the quota.
        """
        with self._lock:
            others = sum(
                each.held.hold.nbytes for key, each in self._entries.items() if key[0] == owner and key[1] != name
            )
            if others + held.hold.nbytes > self._quota:
                raise ResourceExhausted(
                    f"{name}: has {held.hold.nbytes:,} bytes, and your other tables have {others:,} of the "
                    f"{self._quota:,} that one caller may keep; drop some, or start the gateway with more --quota"
                )
            replaced = self._entries.get((owner, name))
            self._entries[owner, name] = _Entry(held, self._clock() + self._seconds)
        del replaced  # outside the lock: it may be the last reference to a large table

    def get(self, owner: str, name: str) -> Held:
        """A table, whose time begins anew.

        Raises:
            NotFound: the owner has no table of this name.
        """
        with self._lock:
            entry = self._entries.get((owner, name))
            if entry is not None and entry.end > self._clock():
                entry.end = self._clock() + self._seconds
                return entry.held
        raise NotFound(f"{name}: no table of this name is kept; put it, or list the tables that are (ListFlights)")

    def drop(self, owner: str, name: str) -> None:
        """Forgets a table.

        Raises:
            NotFound: the owner has no table of this name.
        """
        self.get(owner, name)
        with self._lock:
            dropped = self._entries.pop((owner, name), None)
        del dropped

    def listed(self, owner: str, prefix: str = "") -> list[Listed]:
        """The owner's tables whose names begin with `prefix`, by name. Their times go on."""
        now = self._clock()
        with self._lock:
            found = [
                Listed(name, each.held.table, each.held.hold.nbytes, each.end - now)
                for (of, name), each in self._entries.items()
                if of == owner and name.startswith(prefix) and each.end > now
            ]
        return sorted(found, key=lambda each: each.name)

    def expire(self) -> None:
        """Forgets the tables whose time is over."""
        now = self._clock()
        with self._lock:
            over = [key for key, each in self._entries.items() if each.end <= now]
            dropped = [self._entries.pop(key) for key in over]
        del dropped


def table_name(argument: str, name: Any) -> str:
    """A name that a table may have.

    Raises:
        InvalidArgument: it is none.
    """
    if isinstance(name, bytes):
        name = name.decode("utf-8", "replace")
    is_name = isinstance(name, str) and name.isprintable() and 0 < len(name.encode()) <= MOST_NAME_BYTES
    if not is_name or name.startswith("{"):
        raise InvalidArgument(
            f"{argument}: {name!r} is no name of a table; give 1 to {MOST_NAME_BYTES} bytes of printable text that do "
            "not begin with '{'",
            field=argument,
        )
    return str(name)


class BatchBytes:
    """Adds up the bytes of batches of one stream; a dictionary that batches share counts once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of(self, batch: Any) -> int:
        """The bytes that this batch adds."""
        return sum(map(self._of_column, batch.columns))

    def _of_column(self, column: Any) -> int:
        if not pa.types.is_dictionary(column.type):
            return int(column.nbytes)
        addresses = [each.address for each in column.dictionary.buffers() if each is not None]
        is_new = not self._seen.issuperset(addresses)
        self._seen.update(addresses)
        return int(column.indices.nbytes) + (int(column.dictionary.nbytes) if is_new else 0)


def in_one_piece(batches: Iterable[Any], schema: Any) -> Any:
    """The table of batches, each column in one piece, from which rows are taken faster."""
    return with_one_dictionary(pa.Table.from_batches(list(batches), schema)).combine_chunks()

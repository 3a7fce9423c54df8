"""When a call that failed is tried again. Knows errors and time, nothing of gRPC; see the table in README.md."""

from __future__ import annotations

import enum
import random
import threading
import time
from typing import Callable, NamedTuple, TypeVar

from corank import _errors as errors
from corank._progress import Progress

INITIAL_SECONDS = 0.05
MAX_SECONDS = 5.0
BUDGET_TOKENS = 20.0
BUDGET_REFILL = 0.1

R = TypeVar("R")


class Repeat(enum.IntEnum):
    """Which failures of a call may be followed by another try."""

    NEVER = 0
    """Whatever the server says: its inputs may be overwritten. What was never sent may still be sent."""
    UNLESS_LOST = 1
    """Where the server says that it failed; not where the answer was lost, and the work may be done."""
    ALWAYS = 2
    """Done twice is as good as done once."""


class Clock:
    """Time and chance, as tests replace them."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)

    def random(self) -> float:
        """From 0 to less than 1."""
        return random.random()


class Limit:
    """A deadline for all that a call does: what it asks first, its tries, and the waits between them.

    Attributes:
        seconds: until the deadline, from when this was made; None: there is none.
    """

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self.seconds = seconds
        self._clock, self._begin = clock, clock.now()

    def left(self) -> float | None:
        """Seconds, 0 or more; None: there is no deadline."""
        return None if self.seconds is None else max(self.seconds - (self._clock.now() - self._begin), 0.0)

    def sooner(self, seconds: float) -> Limit:
        """Another one that ends in `seconds`, or with this one if that is first."""
        left = self.left()
        return Limit(self._clock, seconds if left is None else min(seconds, left))


class Budget:
    """What one client may spend on retries, as in gRPC's retry design. Thread-safe.

    Every try that could be repeated takes a token out of the bucket, every call that succeeds puts a tenth back, and
    nothing is tried again while the bucket is at most half full. So the clients of a server that refuses everything do
    little more than ask once.
    """

    def __init__(self, tokens: float = BUDGET_TOKENS) -> None:
        self._most = self._tokens = tokens
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Takes a token. False if there is nothing to be tried again with."""
        with self._lock:
            self._tokens = max(self._tokens - 1, 0.0)
            return self._tokens > self._most / 2

    def refill(self) -> None:
        """A call succeeded."""
        with self._lock:
            self._tokens = min(self._tokens + BUDGET_REFILL, self._most)


class Next(NamedTuple):
    """Whether a call is tried again."""

    delay: float | None
    """Seconds to wait before it; None: it is not."""
    reason: str = ""
    """Why it is not, for a person; empty where that goes without saying."""


def after_failure(
    error: errors.CorankError, repeat: Repeat, attempt: int, retries: int, remaining: float | None, random: float
) -> Next:
    """What follows on `error` of try number `attempt`, from 1, with `remaining` seconds to the deadline.

    The wait is at least what the server asks for, and drawn (`random` from 0 to 1) from as much again, or from 0.05
    seconds if that is more, doubled with each try, 5 seconds at most, and never up to the deadline.
    """
    if error._failure is errors.Failure.FINAL or retries < 1:
        return Next(None)
    if repeat is Repeat.NEVER and error._failure is not errors.Failure.NOT_SENT:
        return Next(None, "its results go over its inputs, which may have changed")
    if repeat is Repeat.UNLESS_LOST and error._failure is errors.Failure.LOST:
        return Next(None, "it may have been done, and doing it twice may do harm")
    if attempt > retries:
        return Next(None, f"no more than {retries + 1} tries are allowed")
    least = getattr(error, "retry_after", None) or 0.0
    if remaining is not None and least >= remaining:
        return Next(None, "the next try would begin after the deadline")
    # Callers that were all told the same time must not all come back at it.
    spread = min(max(INITIAL_SECONDS, least) * 2.0 ** (attempt - 1), MAX_SECONDS)
    if remaining is not None:
        spread = min(spread, remaining - least)
    return Next(least + spread * random)


class Retrier:
    """Tries calls of one client. Thread-safe."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.budget = Budget()

    def forked(self) -> None:
        """In a child."""
        self.budget = Budget()

    def run(
        self,
        once: Callable[[float | None], R],
        *,
        deadline: float | None,
        retries: int,
        repeat: Repeat,
        reload: Callable[[errors.CorankError], bool] = lambda error: False,
        before_again: Callable[[], object] = lambda: None,
        progress: Progress | None = None,
    ) -> tuple[R, int]:
        """Calls once(seconds left), and again while that may help.

        Args:
            once: makes one try.
            deadline: seconds for all tries.
            retries: how many tries may follow the first.
            repeat: what the call may do twice.
            reload: whether something has changed since the error that is worth a try at once, the first time.
            before_again: prepares another try.
            progress: is told of the tries.

        Returns:
            What `once` returned, and the number of tries.

        Raises:
            CorankError: the last try's; its message says how often it was tried, and why not again.
        """
        begin = self.clock.now()
        end = None if deadline is None else begin + deadline
        attempt, before, reloaded = 1, "", False
        while True:
            if progress is not None:
                progress.attempt, progress.waiting = attempt, False
            try:
                result = once(None if end is None else max(end - self.clock.now(), 0.0))
            except errors.CorankError as error:
                if not reloaded and reload(error):
                    reloaded = True
                    attempt += 1
                    continue
                now = self.clock.now()
                left = None if end is None else end - now
                following = after_failure(error, repeat, attempt, retries, left, self.clock.random())
                is_final = error._failure is errors.Failure.FINAL
                if not is_final and not self.budget.take() and following.delay is not None:
                    following = Next(None, "too many calls of this client fail now for more tries")
                if following.delay is None:
                    late = before if isinstance(error, errors.DeadlineExceeded) else ""
                    error._tell(attempt, now - begin, following.reason, late)
                    raise
                before, delay = error.message, following.delay
            else:
                self.budget.refill()
                return result, attempt
            attempt += 1
            if progress is not None:
                progress.attempt, progress.waiting = attempt, True
            self.clock.sleep(delay)
            before_again()

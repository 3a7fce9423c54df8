"""Decides when to retry a call that failed; see docs/concepts/retries.md. Knows errors and time, not gRPC."""

from __future__ import annotations

import enum
import random
import threading
import time
from typing import Callable, NamedTuple, TypeVar

from corank import _aside as aside
from corank import _errors as errors
from corank._progress import Progress

INITIAL_SECONDS = 0.05
MAX_SECONDS = 5.0
BUDGET_TOKENS = 20.0
BUDGET_REFILL = 0.1

R = TypeVar("R")


class Repeat(enum.IntEnum):
    """The failures after which a call may be retried."""

    NEVER = 0
    """None, because its inputs may be overwritten; but a call that was never sent may be sent."""
    UNLESS_LOST = 1
    """Failures that the server reports; not a lost answer, after which the work may be done."""
    ALWAYS = 2
    """All, because doing the call twice does no harm."""


class Clock:
    """Time and chance, as tests replace them."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)

    def random(self) -> float:
        """A random number from 0 to less than 1."""
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
    """The retries that one client may make, as in gRPC's retry design. Thread-safe.

    Every try that could be repeated takes a token out of the bucket, every call that succeeds puts a tenth back, and
    nothing is tried again while the bucket is at most half full. So the clients of a server that refuses everything do
    little more than ask once.
    """

    def __init__(self, tokens: float = BUDGET_TOKENS) -> None:
        self._most = self._tokens = tokens
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Takes a token. False if there are too few for a retry."""
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
    """Why there is no retry, in words; empty if that is obvious."""


def after_failure(
    error: errors.CorankError, repeat: Repeat, attempt: int, retries: int, remaining: float | None, random: float
) -> Next:
    """Decides what follows on `error` of try number `attempt`, from 1, with `remaining` seconds to the deadline.

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
    # Callers that all got the same delay must not all retry at the same moment.
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
        tries = Tries(self, deadline, retries, repeat, reload, progress)
        while True:
            tries.begin()
            try:
                result = once(tries.left())
            except errors.CorankError as error:
                delay = tries.failed(error)
                if delay is None:
                    raise
            else:
                return result, tries.succeeded()
            if delay >= 0:
                self._wait(delay)
                before_again()

    def _wait(self, seconds: float) -> None:
        scope = aside.scope()
        if scope is None:
            self.clock.sleep(seconds)
        elif scope.pause(seconds):
            raise errors.Cancelled("cancelled by the caller, between two tries")


class Tries:
    """The tries of one call: how many there were, and what follows on a failure.

    Args:
        retrier: the client's.
        deadline: seconds for all tries.
        retries: how many tries may follow the first.
        repeat: what the call may do twice.
        reload: whether something has changed since an error that is worth a try at once, the first time.
        progress: is told of the tries.
    """

    def __init__(
        self,
        retrier: Retrier,
        deadline: float | None,
        retries: int,
        repeat: Repeat,
        reload: Callable[[errors.CorankError], bool],
        progress: Progress | None = None,
    ) -> None:
        self._clock, self._budget = retrier.clock, retrier.budget
        self._retries, self._repeat, self._reload, self._progress = retries, repeat, reload, progress
        self._begin = self._clock.now()
        self._end = None if deadline is None else self._begin + deadline
        self._attempt, self._before, self._reloaded = 1, "", False

    def begin(self) -> None:
        """A try begins."""
        if self._progress is not None:
            self._progress.attempt, self._progress.waiting = self._attempt, False

    def left(self) -> float | None:
        """Seconds to the deadline, 0 or more; None: there is none."""
        return None if self._end is None else max(self._end - self._clock.now(), 0.0)

    def succeeded(self) -> int:
        """The last try succeeded. How many there were."""
        self._budget.refill()
        return self._attempt

    def failed(self, error: errors.CorankError) -> float | None:
        """The last try failed. Seconds to wait before another; less than 0: at once; None: there is no other."""
        if not self._reloaded and self._reload(error):
            self._reloaded = True
            self._attempt += 1
            return -1.0
        now = self._clock.now()
        left = None if self._end is None else self._end - now
        following = after_failure(error, self._repeat, self._attempt, self._retries, left, self._clock.random())
        is_final = error._failure is errors.Failure.FINAL
        if not is_final and not self._budget.take() and following.delay is not None:
            following = Next(None, "too many calls of this client fail now for more tries")
        if following.delay is None:
            late = self._before if isinstance(error, errors.DeadlineExceeded) else ""
            error._tell(self._attempt, now - self._begin, following.reason, late)
            return None
        self._before = error.message
        self._attempt += 1
        if self._progress is not None:
            self._progress.attempt, self._progress.waiting = self._attempt, True
        return following.delay

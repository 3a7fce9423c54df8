"""Time that passes only when somebody waits, and chance that a test chooses."""

from __future__ import annotations

from collections.abc import Callable

from corank._retry import Clock


class VirtualClock(Clock):
    """Begins at 0.

    Attributes:
        sleeps: what was waited, in seconds.
        on_sleep: called before each wait ends.
    """

    def __init__(self, chance: float) -> None:
        self._chance, self._now = chance, 0.0
        self.sleeps: list[float] = []
        self.on_sleep: Callable[[], object] = lambda: None

    def now(self) -> float:
        """Seconds waited so far."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Lets them pass at once."""
        self.on_sleep()
        self.sleeps.append(seconds)
        self._now += seconds

    def random(self) -> float:
        """Always the same."""
        return self._chance

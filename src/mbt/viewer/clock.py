"""The time of a playback, which runs, pauses, and starts again."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    """The playing time [s], from 0 to `duration`."""

    def __init__(self) -> None:
        self.duration = 0.0
        self.speed = 1.0
        self.loops = True
        self.is_running = False
        self._elapsed = 0.0
        self._seen = 0.0
        self._has_moved = False

    def start(self, now: float | None = None) -> None:
        """Run; from the beginning if it is at the end."""
        if self._elapsed >= self.duration:
            self._elapsed = 0.0
        self._seen = time.perf_counter() if now is None else now
        self.is_running = True

    def stop(self) -> None:
        """Pause."""
        self._move(time.perf_counter())
        self.is_running = False

    def change_speed(self, speed: float) -> None:
        """Run faster or slower from now on."""
        self._move(time.perf_counter())
        self.speed = speed

    def set(self, elapsed: float) -> None:
        """Go to a time."""
        self._elapsed = min(max(elapsed, 0.0), self.duration)
        self._has_moved = True
        self._seen = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """The playing time at the last advance [s]."""
        return self._elapsed

    def advance(self, now: float | None = None) -> float | None:
        """Return the playing time now, or None if it has not changed since the last call.

        At the end it stops or starts again.
        """
        self._move(time.perf_counter() if now is None else now)
        has_moved, self._has_moved = self._has_moved, False
        return self._elapsed if has_moved else None

    def _move(self, now: float) -> None:
        if not self.is_running:
            return
        self._has_moved = True
        self._elapsed += (now - self._seen) * self.speed
        self._seen = now
        if self._elapsed >= self.duration:
            if self.loops and self.duration > 0.0:
                self._elapsed %= self.duration
            else:
                self._elapsed = self.duration
                self.is_running = False

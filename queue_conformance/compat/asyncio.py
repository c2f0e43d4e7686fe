"""What is ready and what sleeps in an event loop of asyncio that somebody else turns."""

from __future__ import annotations

import asyncio
import heapq
from typing import Any


class TurnedLoop(asyncio.BaseEventLoop):
    """An event loop without a selector: whoever has it says when it runs, and what time it is."""

    _ready: Any
    _scheduled: Any

    def run_ready(self) -> int:
        """Run what is ready now, and nothing that becomes ready meanwhile; return how much was."""
        count = len(self._ready)
        for _ in range(count):
            handle = self._ready.popleft()
            if not handle.cancelled():
                handle._run()
        return count

    def drop_ready(self) -> None:
        """Forget what is ready."""
        self._ready.clear()

    def timers(self) -> list[asyncio.TimerHandle]:
        """Return what sleeps."""
        return [timer for timer in self._scheduled if not timer.cancelled()]

    def wake_timers(self) -> None:
        """Make ready what has slept long enough, the earliest first."""
        while self._scheduled and self._scheduled[0].when() <= self.time():
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False
            if not timer.cancelled():
                self._ready.append(timer)

    def _process_events(self, event_list: Any) -> None: ...

    def _write_to_self(self) -> None: ...

    def _timer_handle_cancelled(self, handle: Any) -> None: ...

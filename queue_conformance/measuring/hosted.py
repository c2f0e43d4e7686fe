"""An implementation that is measured from a process of its own: nothing of its code runs in the one of pytest."""

from __future__ import annotations

from functools import partial
from typing import Any

from queue_conformance.config.targets import Target
from queue_conformance.implementation.loading import LoadError
from queue_conformance.measuring import sizes
from queue_conformance.measuring.step import Measured
from queue_conformance.processes import process
from queue_conformance.processes.endings import SILENCE
from queue_conformance.processes.host import Host, HostEnded
from queue_conformance.processes.isolation import IsolatedError
from queue_conformance.running.contexts import RunConfig


class HostedSubject:
    """Like :class:`~queue_conformance.measuring.sizes.Subject`, in a process of its own where there can be one.

    Args:
        target: the implementation.
        config: how it is run.
        cls: its class, or ``None`` to import it there.

    Attributes:
        name: what it is called.
        axes: what there may be more and more of.

    Raises:
        LoadError: if it cannot be measured; the message is one line.
    """

    def __init__(self, target: Target, config: RunConfig, cls: type[Any] | None = None) -> None:
        self.name = target.name
        prepare = partial(sizes.prepare, target, config, cls)
        subject: sizes.Subject | None = None

        def work(asked: tuple[str, int, float] | None) -> Any:
            nonlocal subject
            if subject is None or asked is None:
                subject = prepare()
                return subject.axes
            return subject.measure(*asked)

        self._ask = self._ask_host if process.AVAILABLE else work
        if process.AVAILABLE:
            self._host = Host(work, LoadError, 2 * SILENCE + 6 * config.time_limit, config.guard)
        try:
            self.axes: tuple[str, ...] = tuple(self._ask(None))
        except BaseException as error:
            self.close()
            if isinstance(error, (HostEnded, IsolatedError)):
                raise LoadError(f"{target.path} cannot be measured: {_last(error)}") from None
            raise

    def measure(self, axis: str, size: int, seconds: float) -> Measured | str:
        """Measure one size, or say how that ended."""
        try:
            found: Measured | str = self._ask((axis, size, seconds))
        except (HostEnded, IsolatedError) as error:
            return _last(error)
        return found

    def _ask_host(self, asked: tuple[str, int, float] | None) -> Any:
        return self._host.ask(asked)

    def close(self) -> None:
        """End the process."""
        if process.AVAILABLE:
            self._host.close()


def _last(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]

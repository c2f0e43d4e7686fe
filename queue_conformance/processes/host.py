"""A process that works for this one: what it imports, and what that starts, stays there and ends with it."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import socket
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from queue_conformance.compat.python import with_room
from queue_conformance.processes import descriptors, endings, isolation, messages, role
from queue_conformance.processes.isolation import IsolatedError
from queue_conformance.processes.mailbox import Mailbox
from queue_conformance.processes.process import TICK, Process, flush, forked
from queue_conformance.processes.watchdog import Watchdog

if TYPE_CHECKING:
    from queue_conformance.guard import Guard

_RING = b"!"

_LOST = "closed, shut down or replaced descriptors that are not its own"


class HostEnded(Exception):
    """The process has ended, or does nothing any more; the message says how.

    Attributes:
        at_work: whether it ended while it worked.
    """

    def __init__(self, how: str, *, at_work: bool = False) -> None:
        super().__init__(how)
        self.at_work = at_work


class Host:
    """Calls a function in another process, again and again.

    What is asked and answered is in memory that both share. A socket only wakes the one who waits, whatever comes over it.

    Args:
        work: the function; what it gets and returns must be picklable.
        expected: an exception whose message is for the author; others are internal errors.
        timeout: seconds without any sign of life after which the process is given up.
        guard: guards what it must not touch, if there is such.
        shielded: whether what is tested runs below yet another process, and so can end no more than that.

    Attributes:
        pid: its number.
        watchdog: what it does.
        bell: what can be read when it has answered.
    """

    def __init__(
        self,
        work: Callable[[Any], Any],
        expected: type[Exception],
        timeout: float,
        guard: Guard | None = None,
        *,
        shielded: bool = False,
    ) -> None:
        self.watchdog = Watchdog()
        self.watchdog.tell(isolation.FIRST)
        self._expected = expected
        self._timeout = timeout
        self._box, self._last = Mailbox(), Mailbox()
        self.bell, theirs = socket.socketpair()
        for end in (self.bell, theirs):
            end.settimeout(None)  # the author's conftest.py may have set a default
        descriptors.withhold(self.bell.fileno())
        parent = os.getpid()
        pid = forked()
        if pid == 0:
            try:
                self.bell.close()
                role.supervise(guard.enter(parent) if guard else parent, self.watchdog)
                role.shielded = shielded
                descriptors.withhold(theirs.fileno())
                with_room(_serve, theirs, self._box, self._last, work, expected)  # and so all that is forked from it
            finally:
                role.end_supervisor()
        theirs.close()
        self.pid, self._process = pid, Process(pid)

    def ask(self, request: object, watch: Callable[[Watchdog], None] | None = None) -> Any:
        """Let the function work, and return what it returns.

        Args:
            request: what it gets.
            watch: called about ten times a second in the meantime, with what the watchdog says.

        Raises:
            HostEnded: if the process does not live to answer.
            IsolatedError: if the function raised something that is not expected.
        """
        with self._ending():
            self.begin(request)
            while not self.look(TICK):
                if watch:
                    watch(self.watchdog)
        return self.answer()

    def begin(self, request: object, streams: Sequence[int] = ()) -> None:
        """Let the function begin to work.

        Args:
            request: what it gets.
            streams: the descriptors that it is to print into, for standard output and for errors, if not where this process does.

        Raises:
            HostEnded: if the process does not live to hear it.
        """
        self._at_work = False
        self._box.clear()
        self._box.add(pickle.dumps(request))
        with self._ending(), contextlib.ExitStack() as stack:
            socket.send_fds(self.bell, [_RING], streams or _streams(stack))
        self._at_work = self._rings = True
        self._seen, self._alive = 0.0, monotonic()

    def look(self, seconds: float) -> bool:
        """Whether the function has returned; waits for that so many seconds at most.

        Raises:
            HostEnded: if the process does not live to answer.
        """
        with self._ending():
            if self._answered():
                return True
            if not self._rings and self._process.within(seconds) is not None and not self._answered():
                raise EOFError
            poll = select.poll()
            poll.register(self.bell, select.POLLIN)
            self._rings = self._rings and not (poll.poll(seconds * 1000) and not self.bell.recv(1 << 16))
            self._process.go_on()
            if (now := self.watchdog.now) != self._seen:
                self._seen, self._alive = now, monotonic()
            if monotonic() - self._alive > self._timeout:
                raise HostEnded(f"did nothing for {self._timeout:g} s")
            return self._answered()

    def answer(self) -> Any:
        """Return what the function has returned.

        Raises:
            IsolatedError: if it raised something that is not expected.
        """
        kind, value = messages.read_message(self._box.messages()[1])
        if kind == "expected":
            raise self._expected(value)
        if kind == "error":
            raise IsolatedError(value)
        return value

    def _answered(self) -> bool:
        return len(self._box.messages()) > 1

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """Tell how the process ended; where the caller does not go on, it ends, too: what it says is no answer to anything else.

        Raises:
            HostEnded: if it has ended.
        """
        try:
            yield
        except (OSError, EOFError):
            status = self._process.within(1.0)
            status = self._process.end() if status is None else status
            last = b"".join(self._last.messages()).decode()
            raise HostEnded(last or endings.how_it_ended(status), at_work=self._at_work) from None
        except BaseException:
            self.close()
            raise

    @property
    def closed(self) -> bool:
        """Whether the process was ended from here."""
        return self.bell.fileno() < 0

    def close(self) -> None:
        """End the process, and all below it."""
        self._process.stop()
        self.bell.close()


def _streams(stack: contextlib.ExitStack) -> list[int]:
    """Return where the process is to print: where this one does now, or nowhere if that is no file."""
    try:
        sys.stdout.fileno()
        return [1, 2]
    except (AttributeError, OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, nowhere)
        return [nowhere] * 2


def _serve(bell: socket.socket, box: Mailbox, last: Mailbox, work: Callable[[Any], Any], expected: type[Exception]) -> None:
    """Work until nobody asks any more; then the last message says why that may be."""
    with contextlib.suppress(OSError, EOFError):
        while True:
            _wait(bell)
            answer: tuple[str, Any]
            try:
                answer = "answer", work(pickle.loads(box.messages()[0]))
            except expected as error:
                answer = "expected", str(error)
            except BaseException:
                answer = "error", traceback.format_exc()
            flush()
            messages.leave_message(box, *answer)
            bell.send(_RING)
    last.add(_LOST.encode())  # which nobody reads who has stopped asking


def _wait(bell: socket.socket) -> None:
    """Wait until somebody asks; streams that come with that become those of this process.

    Raises:
        EOFError: if nobody asks any more.
    """
    rung, streams, _, _ = socket.recv_fds(bell, len(_RING), 2)
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
        os.close(stream)
    if not rung:
        raise EOFError

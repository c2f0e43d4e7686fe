"""Faults of a server, and of the connection to it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import ClassVar

from queue_conformance.faults.backend import Backend
from queue_conformance.faults.fault import Fault, NoFault


class ServerFault(Fault):
    """A fault of a server, or of the connection to it.

    Args:
        backend: the server, and the proxy before it.
        number: bytes that still pass, where the fault has to do with a number of them.

    Attributes:
        may_act: whether the server may do what it is asked for, although its client does not hear of it.
        tried_again: whether the operation that lost a reply has asked once more.
    """

    place = "backend"
    may_act = tried_again = False

    is_away: ClassVar[bool] = True
    """Whether the server does not answer meanwhile, which is a temporary problem."""

    def __init__(self, backend: Backend, number: int | None = None) -> None:
        super().__init__(number)
        self.backend = backend


class Traffic(NoFault, ServerFault):
    """Counts what passes.

    Attributes:
        requested, replied: the bytes that passed to the server, and to its clients.
        turns: how often the server was asked, and answered.
    """

    requested = replied = turns = 0

    def begin(self) -> None:
        self._before = self._counted()

    def end(self) -> None:
        self.requested, self.replied, self.turns = map(operator.sub, self._counted(), self._before)

    def _counted(self) -> tuple[int, int, int]:
        return self.backend.requested, self.backend.replied, self.backend.turns


TRIES = 3
"""How often it is measured what passes, while no reply comes."""


def usual_traffic(backend: Backend, attempt: Callable[[Traffic], None]) -> Traffic:
    """Return what passes between a client and its server while nothing fails.

    On a busy machine a client may have given up before the reply came; then it is tried again.

    Args:
        backend: the server.
        attempt: runs the operation with the counter.
    """
    for _ in range(TRIES):
        usual = Traffic(backend)
        attempt(usual)
        if usual.replied:
            break
    return usual


class ConnectionFault(ServerFault):
    """A fault that the proxy makes, by a method, and sees."""

    method: ClassVar[str]
    """The name of that method."""

    options: ClassVar[dict[str, bool]] = {}
    """What else that method is told."""

    def begin(self) -> None:
        self._requested, self._replied, self._cuts = self.backend.requested, self.backend.replied, self.backend.cuts
        getattr(self.backend, self.method)(*([] if self.number is None else [self.number]), **self.options)

    def end(self) -> None:
        self.backend.recover()

    def __exit__(self, *raised: object) -> None:
        self.hit = self.seen()  # what an operation raises is not always the fault's
        self.end()

    def seen(self) -> bool:
        """Whether the proxy has cut something."""
        return self.backend.cuts > self._cuts


class Refused(ConnectionFault):
    """Every connection ends, and new ones are refused."""

    name = "refused connections"
    method = "refuse"

    def seen(self) -> bool:
        return self.backend.requested == self._requested


class RequestCut(ConnectionFault):
    """A number of bytes of requests pass; then the connection ends, and new ones are refused."""

    name = "cut request"
    method = "cut_request"
    number: int


class ReplyCut(ConnectionFault):
    """A number of bytes of replies pass; then the connection ends, and new ones are refused."""

    name = "cut reply"
    method = "cut_reply"
    may_act = True
    number: int


class ReplyLost(ReplyCut):
    """A number of bytes of replies pass; then the connection ends, and new ones are welcome."""

    name = "lost reply"
    options: ClassVar = {"refuse": False}

    def end(self) -> None:
        self.tried_again = self.backend.asked_again
        super().end()


def each_reply_lost(backend: Backend, attempt: Callable[[Traffic], None]) -> Iterator[ReplyLost]:
    """Yield one reply after the other that does not come, of a server that can be asked again at once.

    Args:
        backend: the server.
        attempt: runs the operation with a counter of what passes.
    """
    usual = usual_traffic(backend, attempt)
    for number in range(usual.turns):
        yield ReplyLost(backend, usual.replied * number // usual.turns)


class CutBetween(ConnectionFault):
    """The server answers a number of times; then the connection ends at the next request, and new ones are refused."""

    name = "cut between commands"
    method = "cut_after"


class Stalled(ConnectionFault):
    """Nothing passes until the end; then all of it does."""

    name = "stalled connection"
    method = "stall"
    may_act = True

    def seen(self) -> bool:
        return self.backend.replied == self._replied


class Condition(ServerFault):
    """A fault that the server itself offers, by a method."""

    offered: ClassVar[str]
    """The name of that method."""

    def begin(self) -> None:
        self.backend.harmed = True
        self._condition = getattr(self.backend.server, self.offered)()
        self._condition.__enter__()

    def end(self) -> None:
        self._condition.__exit__(None, None, None)


class Stopped(Condition):
    """The server has ended; it starts again with all that it acknowledged."""

    name = "stopped server"
    offered = "stopped"


class Frozen(Condition):
    """The server does nothing until the end; then it does what it was sent meanwhile."""

    name = "frozen server"
    offered = "frozen"
    may_act = True


class OutOfSpace(Condition):
    """The server refuses to store."""

    name = "server out of space"
    offered = "out_of_space"
    is_away = False


class ReadOnly(Condition):
    """The server refuses to write."""

    name = "read-only server"
    offered = "read_only"
    is_away = False


class PasswordWanted(Condition):
    """The server refuses whoever has not given a password that nobody knows."""

    name = "unknown password"
    offered = "locked"
    is_away = False


class StorageReplaced(Condition):
    """Something else is in the place of all that the server holds, for good."""

    name = "replaced storage"
    offered = "replace_storage"
    is_away = False

    def begin(self) -> None:
        self.hit = bool(self.backend.server.replace_storage())

    def end(self) -> None:
        """It is for good."""

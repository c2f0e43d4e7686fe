"""Faults of the network: a proxy on the loopback address that can refuse, reset, cut, stall and slow what passes it.

It works in a thread of its own with ``selectors``, so that it meets no event loop and no reactor of the queue.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from queue_conformance.faults.connections import Address, connected, peers
from queue_conformance.faults.credentials import same_user
from queue_conformance.faults.links import CHUNK, Link

_RESET = struct.pack("ii", 1, 0)


class FaultProxy:
    """Passes bytes between clients of this user's and a server, until it is told otherwise.

    Args:
        upstream: where the server listens.
        gone: called with the local address of each connection to the server that has ended, if the server does not see that.

    Attributes:
        host, port: where the proxy listens.
        accepted: connections so far.
        requested, replied: bytes passed so far to the server and to its clients.
        cuts: connections that a fault has ended so far.
        stalled: whether nothing passes.
        held: bytes of replies that are held back.
        turns: how often a client has sent something after a reply, or for the first time.
        faulty: whether a fault has begun, and not ended.
        harmed: whether connections, or the server, were disturbed since this was last reset.
        deserted: whether a client has gone before an answer that came then, undisturbed, since that was last reset.
    """

    def __init__(self, upstream: Address, gone: Callable[[Address], None] | None = None) -> None:
        self.upstream = upstream
        self._gone = gone
        self.accepted = self.requested = self.replied = self.cuts = self.held = self.turns = 0
        self._lock = threading.RLock()
        self._selector = selectors.DefaultSelector()
        self._links: set[Link] = set()
        self._unheard: dict[socket.socket, int] = {}  # ends towards the server of clients that did not wait, and how often calmed
        self._calmed = 0
        self._room: dict[str, int] = {}  # bytes that may still pass in a direction before the connection is cut
        self._refuse_after_cut = True
        self.stalled = self.faulty = self.harmed = self.deserted = False
        self._replies: int | None = None  # replies that may still pass before the next one is held
        self._asked = False  # whether what the server says next is a reply of its own
        self._waiting = False  # whether a client has asked, and was not answered yet
        self._turns: int | None = None  # how often a client may still ask before the connection is cut
        self._turn, self._lost = 0, (0, 0)  # requested when a client began to ask; the size of what got no answer, and that then
        self._delay = 0.0
        self._closing = False
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        with contextlib.closing(self._bound(0)) as found:
            port = found.getsockname()[1]
        self._listener = self._bound(port)  # a port that was asked for by number stays ours when it does not listen
        self.host, self.port = self._listener.getsockname()
        self._listen()
        self._thread = threading.Thread(target=self._run, name="fault proxy", daemon=True)
        self._thread.start()

    # --- Faults ------------------------------------------------------------------------------------------------------

    def refuse(self) -> None:
        """End every connection and refuse new ones: the server is down."""
        with self._harming():
            self._refuse()

    def reset(self) -> None:
        """End every connection; new ones are welcome."""
        with self._harming():
            self._cut_all()

    def cut_request(self, after: int, *, refuse: bool = True) -> None:
        """Let some more bytes of requests pass, then end the connection.

        Args:
            after: bytes that still reach the server.
            refuse: whether new connections are refused from then on.
        """
        with self._harming():
            self._room, self._refuse_after_cut = {"request": after}, refuse

    def cut_reply(self, after: int, *, refuse: bool = True) -> None:
        """Let some more bytes of replies pass, then end the connection: the server has done what it was asked for.

        Args:
            after: bytes that still reach the client.
            refuse: whether new connections are refused from then on.
        """
        with self._harming():
            self._room, self._refuse_after_cut, self._lost = {"reply": after}, refuse, (0, 0)

    @property
    def asked_again(self) -> bool:
        """Whether as much was sent since a reply was cut as was asked then: a look whether the server is there is less."""
        size, before = self._lost
        return self.requested - before >= size > 0

    def hold_reply(self, number: int) -> None:
        """Let some more replies pass, then hold back what the server says, and end nothing: it has done what it was asked for.

        Args:
            number: replies that still reach the client.
        """
        with self._harming():
            self._replies, self._asked, self.held = number, False, 0

    def cut_after(self, number: int) -> None:
        """Let the server answer some more times, then end the connection at the next request, and refuse new ones.

        Args:
            number: how often it is still asked; what a client sends at once, such as a transaction, counts once.
        """
        with self._harming():
            self._turns, self._waiting = number, False

    def stall(self) -> None:
        """Pass nothing any more, and end nothing: the server is frozen, or the network swallows what is sent."""
        with self._harming():
            self.stalled = True
            for link in self._links:
                link.watch(self._selector, False)

    def slow(self, seconds: float) -> None:
        """Delay everything that passes, until all faults end; that is no fault, unless the client cannot wait.

        Args:
            seconds: by how much, for each piece.
        """
        with self._changing():
            self.harmed = True
            self._delay = seconds

    def recover(self) -> None:
        """End all faults. Connections that were cut stay cut; what was stalled passes."""
        if not self._thread.is_alive():  # in a fork: all that passes here is its parent's, and the lock may never open
            return
        with self._changing():
            self.faulty = False
            self._room, self._delay, self._replies, self._turns = {}, 0.0, None, None
            for link in self._links:
                link.release(self._selector)
            if self.stalled:
                self.stalled = False
                for link in self._links:
                    link.watch(self._selector, True)
            if self._listener not in self._watched():
                self._listen()

    def calm(self) -> None:
        """Forget what was disturbed, and who did not wait."""
        self._calmed += 1
        self.harmed = self.deserted = False

    def close(self) -> None:
        """End the proxy and every connection."""
        with self._changing():
            self._closing = True
        self._thread.join(5)
        for end in (self._wake_reader, self._wake_writer):
            end.close()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        with self._lock:
            return len(self._links)

    @property
    def unread(self) -> bool:
        """Whether a client has sent what was not passed on yet."""
        with self._lock:
            return any(link.unread() for link in self._links)

    def past(self) -> dict[int, Address]:
        """Return what this process is connected to, by the numbers of its sockets, besides this proxy and its server."""
        with self._lock:
            ends = [*self._unheard, *(end for link in self._links for end in (link.client, link.server))]
            own = {os.fstat(end.fileno()).st_ino for end in ends}
            return {number: peer for number, peer in peers().items() if number not in own and peer != (self.host, self.port)}

    # --- Work --------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:
            yield
        self._wake_writer.send(b"!")

    @contextlib.contextmanager
    def _harming(self) -> Iterator[None]:
        with self._changing():
            self.faulty = self.harmed = True
            yield

    def _watched(self) -> set[Any]:
        return {key.fileobj for key in self._selector.get_map().values()}

    def _bound(self, port: int) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.setblocking(False)
        return listener

    def _listen(self) -> None:
        self._share(True)  # with the connections that there were
        self._listener.listen(64)
        self._selector.register(self._listener, selectors.EVENT_READ)

    def _share(self, shared: bool) -> None:
        """Say whether others may bind to the port while nobody listens there: any user's could then answer the class."""
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, shared)

    def _refuse(self) -> None:
        self._cut_all()
        if self._listener in self._watched():
            self._selector.unregister(self._listener)
            self._share(False)
            try:
                self._listener.shutdown(socket.SHUT_RDWR)  # also where a child of this process has inherited it
            except OSError:  # not on every system
                self._listener.close()
                self._listener = self._bound(self.port)

    def _cut_all(self) -> None:
        self.cuts += len(self._links)
        for link in list(self._links):
            self._end(link, reset=True)

    def _end(self, link: Link, *, reset: bool) -> None:
        link.watch(self._selector, False)
        address = link.server.getsockname()
        for end in (link.client, link.server):
            if reset:
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            end.close()
        self._links.discard(link)
        if self._gone:
            self._gone(address)

    def _run(self) -> None:
        while not self._closing:
            events = sorted(self._selector.select(), key=_is_of_server)  # a client that has gone is not answered any more
            for key, mask in events:
                with self._lock:
                    if key.fileobj is self._wake_reader:
                        with contextlib.suppress(BlockingIOError):
                            self._wake_reader.recv(CHUNK)
                    elif key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj in self._unheard:
                        self._hear(key.fileobj)
                    elif key.data in self._links and not self.stalled:
                        self._pass(key.data, key.fileobj, mask)
        with self._lock:
            for link in list(self._links):
                self._end(link, reset=False)
            for end in self._unheard:
                end.close()
            self._listener.close()
            self._selector.close()

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        if not same_user(client):
            client.close()
            return
        self.accepted += 1
        try:
            server = connected(self.upstream, 2)
        except OSError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            client.close()
            return
        link = Link(client, server)
        self._links.add(link)
        if not self.stalled:
            link.watch(self._selector, True)

    def _pass(self, link: Link, end: Any, mask: int) -> None:
        """Move bytes from one end of a connection towards the other, as far as the faults let them."""
        try:
            if mask & selectors.EVENT_WRITE:
                link.flush(end)
            if mask & selectors.EVENT_READ:
                data = end.recv(CHUNK)
                if not data:
                    self._leave(link, end, reset=False)
                    return
                if self._delay:
                    time.sleep(self._delay)
                self._forward(link, end, data)
        except BlockingIOError:
            pass
        except OSError:
            self._leave(link, end, reset=True)
            return
        if link in self._links:
            link.watch(self._selector, True)

    def _leave(self, link: Link, end: Any, *, reset: bool) -> None:
        """End a connection one end of which has gone; listen whether an answer comes for a client that did not wait for it."""
        if end is not link.client or not link.is_impatient or self.harmed or self._gone:
            self._end(link, reset=reset)
            return
        link.watch(self._selector, False)
        self._links.discard(link)
        link.client.close()
        with contextlib.suppress(OSError):
            link.server.shutdown(socket.SHUT_WR)
        self._unheard[link.server] = self._calmed
        self._selector.register(link.server, selectors.EVENT_READ)

    def _hear(self, server: Any) -> None:
        """Take an answer that comes too late; who waited for what is not there gets none."""
        answer = b""
        with contextlib.suppress(OSError):
            answer = server.recv(CHUNK)
        recent = self._unheard.pop(server) == self._calmed
        self.deserted |= bool(answer) and recent and not self.harmed
        self._selector.unregister(server)
        server.close()

    def _forward(self, link: Link, end: Any, data: bytes) -> None:
        direction = "request" if end is link.client else "reply"
        if self._ends(direction):
            self._refuse()
            return
        if self._holds(direction):
            link.held += data
            self.held += len(data)
            return
        room = self._room.get(direction)
        passed = data if room is None else data[:room]
        if room is not None:
            self._room[direction] = room - len(passed)
        if direction == "request":
            self.requested += len(passed)
            link.asked = link.asked or time.monotonic()
        else:
            self.replied += len(passed)
            link.asked = 0.0
        link.send(link.server if end is link.client else link.client, passed)
        if len(passed) < len(data):
            self._room = {}
            self.cuts += 1
            if direction == "request":
                time.sleep(0.002)  # let the server see what passed before it sees the end
            self._lost = self.requested - self._turn, self.requested
            for each in (link.client, link.server):  # what was let through arrives: no reset, which may overtake it
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_WR)
            self._end(link, reset=False)
            if self._refuse_after_cut:
                self._refuse()

    def _ends(self, direction: str) -> bool:
        """Count turns, and tell whether the connection ends here instead of passing one on."""
        begins = direction == "request" and not self._waiting
        self._waiting = direction == "request"
        self.turns += begins
        self._turn = self.requested if begins else self._turn
        if self._turns is None or not begins:
            return False
        self._turns -= 1
        return self._turns < 0

    def _holds(self, direction: str) -> bool:
        """Count replies, and tell whether what goes in a direction is to be held back."""
        if self._replies is None:
            return False
        if direction == "request":
            self._asked = True
            return False
        self._replies -= self._asked
        self._asked = False
        return self._replies < 0


def _is_of_server(event: tuple[selectors.SelectorKey, int]) -> bool:
    return isinstance(event[0].data, Link) and event[0].fileobj is event[0].data.server

"""The connections that pass a proxy."""

from __future__ import annotations

import contextlib
import selectors
import socket
import time

CHUNK = 1 << 16
"""Bytes that are read at once."""

PATIENCE = 0.2
"""Seconds for which a client waits for an answer at least, unless it is killed or cancelled."""


class Link:
    """One connection: the ends towards the client and the server, and what waits to be sent to each, or is held back.

    Attributes:
        client, server: the ends.
        held: what is held back of replies.
        asked: when the client asked what was not answered yet, by the monotonic clock; or 0.0.
    """

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.held = bytearray()
        self.asked = 0.0
        self._waiting: dict[socket.socket, bytearray] = {client: bytearray(), server: bytearray()}
        self._events = {client: 0, server: 0}  # what each end is registered for
        for end in self._waiting:
            end.setblocking(False)
            with contextlib.suppress(OSError):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, end: socket.socket, data: bytes) -> None:
        self._waiting[end] += data
        self.flush(end)

    def flush(self, end: socket.socket) -> None:
        waiting = self._waiting[end]
        with contextlib.suppress(BlockingIOError):
            while waiting:
                del waiting[: end.send(waiting)]

    def unread(self) -> bool:
        with contextlib.suppress(OSError):
            return bool(self.client.recv(1, socket.MSG_PEEK))
        return False

    @property
    def is_impatient(self) -> bool:
        """Whether the client has waited for an answer as long as a time-out may be; who is killed or cancelled goes sooner."""
        return bool(self.asked) and time.monotonic() - self.asked >= PATIENCE

    def release(self, selector: selectors.BaseSelector) -> None:
        """Send the client what was held back."""
        if self.held:
            self._waiting[self.client] += self.held
            self.held.clear()
            self.watch(selector, True)

    def watch(self, selector: selectors.BaseSelector, wanted: bool) -> None:
        """Register both ends for what they wait for, or neither; reading stops while the other end is behind."""
        for end, other in ((self.client, self.server), (self.server, self.client)):
            events = 0
            if wanted:
                events = selectors.EVENT_READ if len(self._waiting[other]) < CHUNK * 16 else 0
                events |= selectors.EVENT_WRITE if self._waiting[end] else 0
            before, self._events[end] = self._events[end], events
            if events and not before:
                selector.register(end, events, self)
            elif before and not events:
                selector.unregister(end)
            elif events != before:
                selector.modify(end, events, self)

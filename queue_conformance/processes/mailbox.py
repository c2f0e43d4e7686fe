"""Messages in memory that processes share: what one of them does to its descriptors is not in the way."""

from __future__ import annotations

import mmap
import struct

ROOM = 64 << 20
"""Bytes that the messages of one mailbox may have, with their lengths; memory is taken only for what is used."""


class Mailbox:
    """Messages that a process leaves for another one, which was forked from it or forked it; one of them writes at a time."""

    _LENGTH = struct.Struct("Q")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, ROOM)

    def add(self, message: bytes) -> None:
        """Leave a message.

        Raises:
            MemoryError: if there is no room for it.
        """
        end = self.size
        start = end + 2 * self._LENGTH.size
        if start + len(message) > ROOM:
            raise MemoryError(f"a message of {len(message)} bytes")
        self._LENGTH.pack_into(self._memory, end + self._LENGTH.size, len(message))
        self._memory[start : start + len(message)] = message
        self._LENGTH.pack_into(self._memory, 0, start + len(message) - self._LENGTH.size)  # only now it is there

    def messages(self) -> list[bytes]:
        """Return the messages that are there."""
        found, at = [], self._LENGTH.size
        end = self.size + self._LENGTH.size
        while at < end:
            (length,) = self._LENGTH.unpack_from(self._memory, at)
            at += self._LENGTH.size
            found.append(self._memory[at : at + length])
            at += length
        return found

    def clear(self) -> None:
        """Forget the messages."""
        self._LENGTH.pack_into(self._memory, 0, 0)

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()

    @property
    def size(self) -> int:
        """The bytes that the messages take by now."""
        size: int = self._LENGTH.unpack_from(self._memory, 0)[0]
        return size

"""What processes tell each other: pickled, and read with care, as a class may have had a hand in it."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

from queue_conformance.processes.mailbox import Mailbox

_dumps = pickle.dumps


def expect_picklable(value: object) -> None:
    """Raise what pickles raise, if the value cannot be left as a message."""
    _dumps(value)


def leave_message(mailbox: Mailbox, kind: str, value: object) -> None:
    """Leave a message, or how that failed: it may hold what cannot be pickled, or be larger than the mailbox."""
    try:
        mailbox.add(_dumps((kind, value)))
    except BaseException:
        mailbox.add(_dumps(("error", traceback.format_exc())))


def read_message(message: bytes) -> tuple[str, Any]:
    """Return what a message says: its kind, and a value; that of an error, if something of a class in it cannot be read."""
    try:
        kind, value = pickle.loads(message)
    except (Exception, SystemExit):
        return "error", traceback.format_exc()
    return kind, value


def taken(mailbox: Mailbox) -> tuple[str, Any] | None:
    """Return the message, if there is one, and give the memory back."""
    messages = mailbox.messages()
    mailbox.close()
    return read_message(messages[0]) if messages else None

"""What tells a refusal from an accident."""

from __future__ import annotations

import re
import traceback

ACCIDENTS = (AttributeError, TypeError, LookupError)
"""What Python raises when code meets something that it does not expect."""


_RAISES = re.compile(r"(^|[:;])\s*raise\b")


def is_accident(error: BaseException) -> bool:
    """Whether an exception is one of :data:`ACCIDENTS`, and the line that it comes from has no ``raise`` statement."""
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, ACCIDENTS) and bool(frames) and not _RAISES.search(frames[-1].line or "raise")

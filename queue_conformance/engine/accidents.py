"""Exceptions that refuse something on purpose, and those that are accidents."""

from __future__ import annotations

import dis

ACCIDENTS = (AttributeError, TypeError, LookupError)
"""What Python raises where code meets something else than it expects."""


def is_accident(error: BaseException) -> bool:
    """Whether an exception is one of these, and no ``raise`` statement made it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not isinstance(error, ACCIDENTS):
        return False
    code = trace.tb_frame.f_code.co_code
    return trace.tb_lasti >= len(code) or dis.opname[code[trace.tb_lasti]] != "RAISE_VARARGS"

"""What checks ask of costs as an implementation grows; see ``script_support.growth``."""

from __future__ import annotations

import itertools
from typing import Any

from queue_conformance.engine.case import Case
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.recording import OperationRaised, Timed, describe
from queue_conformance.engine.subject import Subject
from queue_conformance.script_support import growth

SLOW = 60.0
"""Seconds that all calls together may take."""

SIZE = 10_000
"""Bytes of an item that passes through, to see whether it is kept."""


def counted(case: Case, subject: Subject, rule: str, source: str, **names: Any) -> Any:
    """Return what an expression with a function of ``script_support.growth`` counts, as one operation of many calls.

    Args:
        subject: the implementation, which the expression calls by its name.
        rule: the rule that fails if a call does not return, or ends the process.
        source: the expression.
        names: what it uses besides.

    Raises:
        NotCovered: if a call raises, of which other rules tell.
    """
    timed = Timed(subject.raw, case.context.watchdog, SLOW)
    namespace = {**vars(growth), "itertools": itertools, subject.name: timed, **names}
    try:
        return case.record.make(source, rule, lambda: eval(source, namespace), "growing")
    except OperationRaised as raised:
        case.context.stop_if_shared()  # it may raise for what another check has left
        raise NotCovered(f"a call raised {describe(raised.error)}, of which other rules tell") from raised

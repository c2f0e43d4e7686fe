"""What a program that ran by itself, such as a whole crawl, tells of what the implementation raised in it."""

from __future__ import annotations

from collections.abc import Sequence

from queue_conformance.engine.recording import Step, is_a


class Ran:
    """What came of a program that ran by itself.

    Attributes:
        raised_at: what its log says that the implementation raised first, as of a :class:`Step`.
    """

    raised_at = ""


def raised_in(steps: Sequence[Step]) -> str:
    """Return what the last of some steps raised where, or else what a program among them did."""
    told = [step.result.raised_at for step in steps if is_a(step.result, Ran)]
    return next(filter(None, [*(step.raised_at for step in steps[-1:]), *told]), "")

"""What the implementation raised in something that ran by itself, such as a whole crawl, or a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.recording import Step, is_a, origin_of


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


@contextmanager
def by_task(operation: str, error: BaseException | None = None) -> Iterator[None]:
    """Mark failures that are raised inside as those of an operation that ran as a task, and of what that raised, if it did."""
    try:
        yield
    except RuleFailed as failure:
        failure.operation = operation
        if error is not None:
            failure.difference, failure.raised_at = f"raised {type(error).__name__}", origin_of(error)
        raise

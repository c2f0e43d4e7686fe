"""A step as it is shown among the operations of a counterexample, and as the last lines of a script."""

from __future__ import annotations

import textwrap

from queue_conformance.engine.recording import NOTHING, Remark, Step, describe
from queue_conformance.engine.scripts import lines_of


def must_raise(source: str, names: str) -> list[str]:
    """Return lines of a script which fail unless a step raises one of the named exceptions."""
    caught = f"({names.replace(' or ', ', ')})" if " or " in names else names
    return [
        "try:",
        f"    {source}",
        f"except {caught}:",
        "    pass  # right",
        "else:",
        f'    raise AssertionError("{names} expected, but the call returned")',
    ]


def last_line(step: Step) -> list[str]:
    """Return the line of a script whose exception is the failure; an exit of the interpreter is made to look like one."""
    if step.refusable:
        return lines_of([step])
    return raising([step.source], step.error)


def raising(lines: list[str], error: BaseException | None) -> list[str]:
    """Return the lines of a script whose last one raises; one that would end the interpreter in peace fails instead."""
    if not isinstance(error, (SystemExit, KeyboardInterrupt)):
        return lines
    *before, last = lines
    return [
        *before,
        "try:",
        textwrap.indent(last, "    "),
        "except BaseException as error:",
        "    raise AssertionError(repr(error))",
    ]


def show(step: Step, said: str = "") -> str:
    """Return a step as it is shown among the operations of a counterexample.

    Args:
        step: the step.
        said: what is said of the failure; an exception that it tells of is only named.
    """
    if step.error is not None:
        name = type(step.error).__name__
        is_known = said.startswith(name) and " raised" in said
        return f"{step.source}  # raised {name if is_known else describe(step.error, 60)}"
    target = step.source.partition(" = ")[0].strip()
    if step.result is NOTHING or target in _OBJECTS or (step.result is None and target in (step.source, "left")):
        return step.source
    return f"{step.source}  # {step.result if isinstance(step.result, Remark) else describe(step.result, 60)}"


_OBJECTS = ("queue", "other", "third", "fourth", "last", "scheduler", "opened", "closed", "store", "spider")

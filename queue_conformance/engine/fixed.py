"""Checks that are fixed command sequences and nothing else: a table of them, by the rules that they test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from queue_conformance.engine import lockstep, registry
from queue_conformance.engine.cases import run_cases
from queue_conformance.engine.context import CheckContext
from queue_conformance.specification.kinds import Kind


def sequences(
    module: str,
    table: Mapping[str, str | Sequence[str]],
    kinds: Iterable[Kind] = (),
    run: Callable[[CheckContext, str], None] = lockstep.run,
) -> None:
    """Register checks, each of which runs command sequences in lockstep with the model of the kind.

    Args:
        module: the name of the module where the table stands.
        table: by the id of a rule, its sequence, or several; one of them that fails hides no other.
        kinds: the kinds of implementation that they drive; all whose folder the module stands in, if none is named.
        run: runs one of them.
    """
    for rule, fixed in table.items():
        _register(module, rule, fixed, kinds, run)


def _register(
    module: str, rule: str, fixed: str | Sequence[str], kinds: Iterable[Kind], run: Callable[[CheckContext, str], None]
) -> None:
    def runs(context: CheckContext) -> None:
        if isinstance(fixed, str):
            run(context, fixed)
        else:
            run_cases(context, rule, {"sequence": fixed}, lambda case: run(context, case["sequence"]))

    runs.__module__, runs.__qualname__ = module, rule
    registry.check(rule, kinds=kinds)(runs)

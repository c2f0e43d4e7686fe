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
    *,
    covered: bool = False,
) -> None:
    """Register checks, each of which runs command sequences in lockstep with the model of the kind.

    Args:
        module: the name of the module where the table stands.
        table: by the id of a rule, its sequence, or several; one of them that fails hides no other.
        kinds: the kinds of implementation that they drive; all whose folder the module stands in, if none is named.
        run: runs one of them.
        covered: whether one that passes covers its rule, because its commands always do what they say; if not, it is
            covered by what they compare.
    """

    def add(rule: str, fixed: str | Sequence[str]) -> None:
        def check(context: CheckContext) -> None:
            def run_one(case: Mapping[str, str]) -> None:
                run(context, case["sequence"])
                context.covered[rule] += covered

            if isinstance(fixed, str):  # its failure ends the check, so that nothing it covered before counts
                run_one({"sequence": fixed})
            else:
                run_cases(context, rule, {"sequence": fixed}, run_one)

        check.__module__, check.__qualname__ = module, rule
        registry.check(rule, kinds=kinds)(check)

    for rule, fixed in table.items():
        add(rule, fixed)

"""Turn failures into data: what reports say of them, with their operations and scripts."""

from __future__ import annotations

import ast
import re
from contextlib import suppress

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import RuleFailed, Violation
from queue_conformance.engine.ran import raised_in
from queue_conformance.engine.recording import NOTHING, Remark, Step, describe, is_a
from queue_conformance.engine.scripts import with_loops
from queue_conformance.engine.syntax import names_in, parse
from queue_conformance.faults import filesystem
from queue_conformance.script_support import interleaving


def violation_of(context: CheckContext, failure: RuleFailed) -> Violation:
    """Turn a failure of a check into data, with its script."""
    rule, driver = context.specification[failure.rule], context.driver
    return Violation(
        rule=failure.rule,
        expected=failure.expected,
        actual=failure.actual + (driver.only_with(failure.varied) if failure.fields_matter else ""),
        operations=tuple(_operations(failure)),
        script=driver.script(f"{rule.id}: {rule.sentence}", failure.body, filesystem, interleaving),
        sequence=failure.sequence,
        cause=failure.cause,
        way=failure.way,
        others=tuple(violation_of(context, other) for other in failure.others),
        raised_at=failure.raised_at or raised_in(failure.steps),
    )


def _operations(failure: RuleFailed) -> list[str]:
    """Return the operations of a report, after the lines of the script that define the names in them."""
    steps = failure.steps
    shown = [_shown(step, failure.actual) for step in steps]
    with suppress(SyntaxError):  # the representation of a value may not be valid Python
        script, operations = parse("\n".join(failure.body)), parse("\n".join(step.source for step in steps))
        unknown = names_in(operations) & names_in(script, ast.Store) - names_in(operations, ast.Store)
        assigned = {
            ast.unparse(node): names_in(node, ast.Store) & unknown for node in script.body if isinstance(node, ast.Assign)
        }
        defined = {line: names for line, names in assigned.items() if names}
        told = {*defined, *(ast.unparse(node) for node in operations.body)}
        others = [node for node in ast.walk(script) if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Delete))]
        changed = {name for node in others if ast.unparse(node) not in told for name in names_in(node)}
        if unknown & changed or unknown - set().union(*defined.values()):
            return list(failure.body)
        for line, names in reversed([*defined.items()]):
            places = [at for at, text in enumerate(shown) if any(re.search(rf"\b{name}\b", text) for name in names)]
            shown.insert(min(places, default=0), line)
    return with_loops(shown)


def _shown(step: Step, said: str) -> str:
    """Return a step as reports show it; an exception that ``said``, the message of the failure, describes is only named."""
    if step.error is not None:
        name = type(step.error).__name__
        is_known = said.startswith(name) and " raised" in said
        return f"{step.source}  # raised {name if is_known else describe(step.error, 60)}"
    target = step.source.partition(" = ")[0].strip()
    if step.result is NOTHING or target in _OBJECTS or (step.result is None and target in (step.source, "left")):
        return step.source
    return f"{step.source}  # {step.result if is_a(step.result, Remark) else describe(step.result, 60)}"


_OBJECTS = ("queue", "other", "third", "fourth", "last", "scheduler", "opened", "closed", "store", "spider")

"""What a fault breaks fails no rule that is asked of ordinary use."""

import ast
import inspect
import textwrap

import pytest

from queue_conformance.engine.fixtures import DAMAGES
from queue_conformance.engine.registry import checks_of
from queue_conformance.faults import disk, outages
from queue_conformance.faults.fault import Fault, NoFault
from queue_conformance.specification import load
from queue_conformance.specification.kinds import all_kinds

RULES = load()

FAULTS = {
    name
    for module in (disk, outages)
    for name, value in vars(module).items()
    if inspect.isclass(value) and issubclass(value, Fault) and not issubclass(value, NoFault)
}
"""The names of all faults that a check may use without getting them as a case."""


def meets_faults(check):
    """Whether a check gets a fault, makes one, damages what is stored, or lets a process die."""
    function = inspect.unwrap(check.function)
    if not {"fault", "crash", *DAMAGES}.isdisjoint(inspect.signature(function).parameters):
        return True
    names = {node.id for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))) if isinstance(node, ast.Name)}
    return not names.isdisjoint(FAULTS)


CHECKS = sorted({(check.name, check.rules) for kind in all_kinds() for check in checks_of(kind) if meets_faults(check)})


def test_the_checks_with_faults_are_found():
    assert len(CHECKS) > 30


@pytest.mark.parametrize(("name", "rules"), CHECKS)
def test_a_check_with_a_fault_reports_to_no_must_that_speaks_of_none(name, rules):
    assert [rule for rule in rules if RULES[rule].excludes_faults] == []

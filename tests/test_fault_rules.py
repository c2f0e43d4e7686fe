"""What a fault breaks fails no rule that is asked of ordinary use."""

import ast
import inspect
import textwrap

import pytest

from queue_conformance.engine.fixtures import DAMAGES
from queue_conformance.engine.registry import checks_of
from queue_conformance.faults import disk, outages
from queue_conformance.faults.fault import Fault, NoFault
from queue_conformance.kinds.async_scheduler import script_support as below_schedulers
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


QUEUES = {name for name, value in vars(below_schedulers).items() if getattr(value, "is_fault", False)}
"""The names of the kit's own queues that fail for a while."""


def meets_faults(check):
    """Whether a check gets a fault, makes one, damages what is stored, or lets a process die."""
    function = inspect.unwrap(check.function)
    nodes = [*ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    if not {"fault", "crash", *DAMAGES}.isdisjoint(names.union(inspect.signature(function).parameters)):
        return True
    told = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    settings = (function.__globals__.get(name) for name in names)
    given = any(isinstance(node, ast.keyword) and node.arg == "FAULTS" for node in nodes)
    given |= any(isinstance(value, dict) and "FAULTS" in value for value in settings)
    return given or not names.isdisjoint(FAULTS) or not told.isdisjoint(QUEUES)


@pytest.fixture(scope="module")
def checks():
    """The names of checks that meet faults, with the rules that they report to."""
    return {(check.name, check.rules) for kind in all_kinds() for check in checks_of(kind) if meets_faults(check)}


def test_the_checks_with_faults_are_found(checks):
    assert len(checks) > 30
    assert {"e2e.pop-transient", "ascheduler.fault.recovers", "aqueue.get.bad-item"} <= {name for name, _ in checks}


def test_a_check_with_a_fault_reports_to_no_must_that_speaks_of_none(checks):
    assert {(name, rule) for name, rules in checks for rule in rules if RULES[rule].excludes_faults} == set()

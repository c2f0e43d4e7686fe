"""Every rule has a check and a mutant, and no check speaks of rules that do not exist."""

import ast
import importlib.util
import inspect
import pkgutil
import re
from pkgutil import resolve_name
from types import FunctionType

import pytest
import write_docstrings

from mutants import QCRAWL, all_mutants
from queue_conformance.discovery.smoke import claims_of, smoke_check_of
from queue_conformance.engine import scripts
from queue_conformance.engine.instrument import REGISTERED
from queue_conformance.engine.registry import check, checks_of
from queue_conformance.environments import crawling
from queue_conformance.faults import filesystem
from queue_conformance.kinds import BYTE_QUEUE
from queue_conformance.kinds.queue.checks import sequences
from queue_conformance.script_support import interleaving, support
from queue_conformance.specification import load
from queue_conformance.specification.kinds import all_kinds

CHECKS = {kind: [smoke_check_of(kind), claims_of(kind), *checks_of(kind)] for kind in all_kinds()}
EXAMINED = [rule for rule in load().values() if rule.tested]


def test_checks_name_only_rules_that_are_tested():
    named = {rule for checks in CHECKS.values() for found in checks for rule in found.rules}
    assert named <= {rule.id for rule in EXAMINED}


def test_every_rule_has_a_check_for_each_of_its_kinds():
    checked = {kind: {rule for found in checks for rule in found.rules} for kind, checks in CHECKS.items()}
    assert [(rule.id, kind) for rule in EXAMINED for kind in rule.kinds if rule.id not in checked[kind]] == []


def test_a_check_that_is_named_after_a_rule_tests_it():
    checks = [found for checks in CHECKS.values() for found in checks if found.name in load()]
    assert [found.name for found in checks if found.name != found.rules[0]] == []


def test_every_rule_has_a_mutant():
    shown = {rule for mutant in all_mutants() for rule in mutant.fails}
    wanted = {rule.id for rule in EXAMINED if QCRAWL or rule.profiles != {"qcrawl"}}
    assert wanted - shown == set()


def test_the_mutants_names_only_rules_that_are_tested():
    assert all(load()[rule].tested for mutant in all_mutants() for rule in mutant.fails)


def test_the_docstring_of_a_check_is_the_sentence_of_its_rule():
    assert write_docstrings.outdated() == {}, "make parts"


@pytest.mark.parametrize("docstring", ["", '    """What it said."""\n', '    """What it said,\n    in two lines.\n    """\n'])
def test_docstrings_of_checks_are_written_anew(docstring):
    check = '@check("queue.persist.reopen", size=(1, 2))\ndef one(\n    queue, size\n):\n'
    body = '    # why\n    assert queue.pop()\n\n\ndef other():\n    """Another one."""\n'
    sentence = f'    """{load()["queue.persist.reopen"].sentence}"""\n'
    assert write_docstrings.rewritten(f"{check}{docstring}{body}") == f"{check}{sentence}{body}"


def test_scripts_can_call_what_a_statement_of_a_check_calls():
    called = [(check, call) for check in instrumented() for call in statements_of(check) if isinstance(call.func, ast.Name)]
    functions = [(check, check.__globals__.get(call.func.id)) for check, call in called]
    unknown = [
        (check.__qualname__, function.__name__)
        for check, function in functions
        if isinstance(function, FunctionType)
        and not any(part in function.__module__ for part in (".script_support", ".engine."))  # the engine writes its own
        and function not in REGISTERED.get(function.__name__, {}).values()
    ]
    assert unknown == []


@pytest.mark.parametrize("kind", all_kinds(), ids=str)
def test_scripts_know_what_a_check_calls_of_crawls_and_of_what_they_quote(kind):
    driver = resolve_name(kind.driver)
    quoted = *scripts.OF_EACH_KIND, *getattr(driver, "definitions", ())
    modules = support, filesystem, interleaving, *quoted, *getattr(driver, "imported", ())
    known = {*scripts._KNOWN, *crawling._CRAWLS, *(name for module in modules for name in scripts.defined_in(module))}
    checks = [getattr(found.function, "__wrapped__", None) for found in CHECKS[kind]]
    called = [check.__globals__.get(name) for check in checks if check for name in check.__code__.co_names]
    of_scripts = [
        one for one in called if isinstance(one, FunctionType) and re.search(r"\.(script_support|environments)\.", one.__module__)
    ]
    assert {one.__name__ for one in of_scripts} - known == set()


def instrumented():
    """Yield the functions of checks whose statements scripts repeat."""
    yield from {getattr(found.function, "__wrapped__", None) for checks in CHECKS.values() for found in checks} - {None}


def statements_of(check):
    """Yield the calls that are statements of a check by themselves."""
    for node in ast.walk(ast.parse(inspect.getsource(check))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node.value


def test_two_checks_of_one_kind_cannot_have_one_name():
    with pytest.raises(ValueError, match="two checks are called"):
        check("queue.pop.fifo", kinds=[BYTE_QUEUE])(lambda context: None)


def test_a_module_with_checks_may_be_imported_again():
    names = [found.name for found in checks_of(BYTE_QUEUE)]
    importlib.reload(sequences)  # as after a run of pytest in a run of pytest
    assert [found.name for found in checks_of(BYTE_QUEUE)] == names


def test_no_module_with_checks_is_forgotten():
    for folder in {folder for kind in all_kinds() for folder in kind.folders}:
        package = importlib.import_module(f"{folder}.checks")
        found = {f"checks.{name.name}" for name in pkgutil.iter_modules(package.__path__)}
        assert found <= set(importlib.import_module(folder).MODULES), folder


def test_fixtures_are_imported_with_the_checks():
    folders = {folder for kind in all_kinds() for folder in kind.folders}
    with_fixtures = {folder for folder in folders if importlib.util.find_spec(f"{folder}.fixtures")}
    assert {folder for folder in folders if "fixtures" in importlib.import_module(folder).MODULES} == with_fixtures

"""Every rule has a check and a broken implementation, and no check speaks of rules that do not exist."""

import importlib

import pytest

from gallery import QCRAWL, exhibits
from queue_conformance.engine.registry import check, checks_of
from queue_conformance.kinds import BYTE_QUEUE
from queue_conformance.kinds.queue.checks import length
from queue_conformance.running.preflight import claims_of, preflight_of
from queue_conformance.specification import load
from queue_conformance.specification.kinds import all_kinds

CHECKS = {kind: [preflight_of(kind), claims_of(kind), *checks_of(kind)] for kind in all_kinds()}


@pytest.mark.parametrize("kind", all_kinds())
def test_checks_name_only_rules_that_exist(kind):
    assert {rule for found in CHECKS[kind] for rule in found.rules} <= load().keys()


@pytest.mark.parametrize("rule", [rule for rule in load().values() if rule.examined], ids=lambda rule: rule.id)
def test_every_rule_has_a_check_for_each_of_its_kinds(rule):
    for kind in rule.kinds:
        assert any(rule.id in found.rules for found in CHECKS[kind]), kind


@pytest.mark.parametrize("kind", all_kinds())
def test_a_check_that_is_named_after_a_rule_examines_it(kind):
    assert all(found.name == found.rules[0] for found in CHECKS[kind] if found.name in load())


@pytest.mark.parametrize("kind", all_kinds())
def test_rules_that_are_not_examined_have_no_check(kind):
    checked = {rule for found in CHECKS[kind] for rule in found.rules}
    assert not [rule for rule in checked if not load()[rule].examined]


@pytest.mark.parametrize("rule", [rule.id for rule in load().values() if rule.examined])
def test_every_rule_has_an_exhibit_in_the_gallery(rule):
    if load()[rule].profiles == {"qcrawl"} and not QCRAWL:
        pytest.skip("qCrawl is not installed")
    assert any(rule in exhibit.rules for exhibit in exhibits())


def test_the_gallery_names_only_rules_that_are_examined():
    assert all(load()[rule].examined for exhibit in exhibits() for rule in exhibit.rules)


def test_two_checks_of_one_kind_cannot_have_one_name():
    with pytest.raises(ValueError, match="two checks are called"):
        check("queue.pop.fifo", kinds=[BYTE_QUEUE])(lambda bench: None)


def test_a_module_with_checks_may_be_imported_again():
    names = [found.name for found in checks_of(BYTE_QUEUE)]
    importlib.reload(length)  # as after a run of pytest in a run of pytest
    assert [found.name for found in checks_of(BYTE_QUEUE)] == names

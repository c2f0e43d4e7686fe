"""The rules are well-formed, and the reader says what is wrong with those that are not."""

import pickle
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from queue_conformance import kinds as shipped
from queue_conformance.kinds import BYTE_QUEUE, DOWNSTREAM_QUEUE, SCHEDULER
from queue_conformance.specification import (
    CAPABILITIES,
    Hint,
    Level,
    SpecificationError,
    fitting,
    load,
    parse,
    read_tables,
    still_provisional,
)
from queue_conformance.specification.applicability import rules_of, why_not_applicable
from queue_conformance.specification.grounds import OLDEST
from queue_conformance.specification.kinds import EXTERNAL_QUEUE, QUEUELIB, SCRAPY, all_kinds, all_profiles

LONGEST = 200
"""Characters of a sentence that is read at a glance."""

RULE = {
    "id": "queue.pop.something",
    "level": "MUST",
    "sentence": "It works.",
    "source": "somewhere",
    "basis": "words",
    "quote": "it works",
    "why": "Otherwise it does not.",
    "how": "Tries it.",
    "profiles": ["scrapy"],
    "kinds": ["downstream-queue"],
    "hints": ["Look."],
}


def _without(field):
    return {name: value for name, value in RULE.items() if name != field}


def test_every_rule_of_the_shipped_files_is_well_formed():
    rules = load()
    assert len(rules) > 90
    assert all(rule.id == name for name, rule in rules.items())
    assert {rule.level for rule in rules.values()} == set(Level)


def test_every_profile_and_kind_has_rules():
    rules = load().values()
    assert {profile for rule in rules for profile in rule.profiles} == set(all_profiles())
    assert {kind for rule in rules for kind in rule.kinds} == set(all_kinds())


def test_every_capability_of_the_rules_is_known():
    assert all((rule.needs | rule.unless) <= CAPABILITIES.keys() for rule in load().values())


def test_the_further_sentences_of_a_rule_are_short_and_its_own():
    rules = load().values()
    assert [rule.id for rule in rules if max(len(rule.why), len(rule.how)) > LONGEST] == []
    assert len({rule.why for rule in rules}) == len(rules)
    assert [rule.id for rule in rules if rule.sentence in (rule.why, rule.how)] == []
    assert [rule.id for rule in rules if (rule.why + rule.how).count("`") % 2] == []


def test_a_rule_is_read_field_by_field():
    rule = parse([RULE | {"needs": ["peek"], "since": {"scrapy": "2.19"}}])["queue.pop.something"]
    assert rule.level is Level.MUST
    assert rule.profiles == {SCRAPY}
    assert rule.kinds == {DOWNSTREAM_QUEUE}
    assert rule.needs == {"peek"}
    assert rule.since == {"scrapy": "2.19"}
    assert (rule.why, rule.how) == ("Otherwise it does not.", "Tries it.")
    assert rule.tested


@pytest.mark.parametrize(
    ("kinds", "profiles"),
    [
        (["byte-queue"], {QUEUELIB}),
        (["downstream-queue"], {SCRAPY, EXTERNAL_QUEUE}),
        (["downstream-queue", "byte-queue"], {SCRAPY, EXTERNAL_QUEUE, QUEUELIB}),
        ("all", set(all_profiles())),
    ],
)
def test_a_rule_without_profiles_belongs_to_those_of_its_kinds(kinds, profiles):
    assert parse([_without("profiles") | {"kinds": kinds}])["queue.pop.something"].profiles == profiles


def test_a_rule_without_kinds_is_asked_of_those_of_its_folder():
    written = tomllib.loads((Path(shipped.__file__).parent / "queue" / "rules.toml").read_text("utf-8"))["rule"]
    names = [table["id"] for table in written if "kinds" not in table]
    assert names
    assert all(load()[name].kinds == {DOWNSTREAM_QUEUE, BYTE_QUEUE} for name in names)


@pytest.mark.parametrize("reason", ["untestable", "untested"])
def test_a_rule_with_a_reason_is_not_tested(reason):
    rule = parse([_without("how") | {"level": "SHOULD", reason: "too hard"}])["queue.pop.something"]
    assert not rule.tested
    assert (rule.why, rule.how) == ("Otherwise it does not.", "")


@pytest.mark.parametrize("reason", ["untestable", "untested"])
def test_a_rule_that_is_not_tested_cannot_say_how(reason):
    with pytest.raises(SpecificationError, match="is not tested, so there is no how"):
        parse([RULE | {reason: "too hard"}])


@pytest.mark.parametrize(
    ("kit", "provisional"),
    [("0.1.9", True), ("0.2.0.dev1", True), ("0.2.0", True), ("0.2.7", True), ("0.3.0", False), ("1.0", False)],
)
def test_a_new_rule_is_provisional_until_the_next_minor_release(kit, provisional):
    rule = parse([RULE | {"provisional": "0.2"}], kit)["queue.pop.something"]
    assert rule.provisional == ("0.2" if provisional else "")
    assert rule.counts is not provisional
    assert rule.gates(Level.MUST) is not provisional


def test_a_run_fails_by_rules_of_its_level_and_above():
    gates = {level: {of for of in Level if parse([RULE | {"level": level}])[RULE["id"]].gates(of)} for level in Level}
    assert gates[Level.MUST] == set(Level)
    assert gates[Level.SHOULD] == {Level.SHOULD}


def test_no_rule_is_called_provisional_that_is_not_any_more():
    past = [table["id"] for table in read_tables() if "provisional" in table and not still_provisional(table["provisional"])]
    assert not past, "remove the field `provisional` of these rules"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"provisional": "0.2.1"}, "provisional is a minor release of the kit, such as '0.2', not '0.2.1'"),
        ({"provisional": 0.2}, "provisional is a minor release of the kit, such as '0.2', not 0.2"),
        ({"provisional": True}, "provisional is a minor release of the kit, such as '0.2', not True"),
        ({"provisional": ""}, "provisional is a minor release of the kit, such as '0.2', not ''"),
        ({"level": "OUGHT"}, "'OUGHT' is not a valid Level"),
        ({"profiles": ["scrappy"]}, "'scrappy' is no profile"),
        ({"kinds": ["stack"]}, "'stack' is no kind of implementation"),
        ({"needs": ["wings"]}, "unknown capabilities wings"),
        ({"colour": "red"}, "unknown fields colour"),
        ({"sentence": "It works"}, "the sentence does not end in a full stop"),
        ({"why": "Otherwise it does not"}, "the why does not end in a full stop"),
        ({"how": "Tries it"}, "the how does not end in a full stop"),
        ({"how": ""}, "the how does not end in a full stop"),
        ({"id": "Queue Pop"}, "an id is two or three lower-case words"),
        ({"hints": []}, "lacks hints"),
        ({"hints": [{"when": "a"}]}, "a hint is a text, or a table with `when` and `hint`"),
        ({"hints": [{"when": "(", "hint": "Look."}]}, "'\\('"),
        ({"untestable": "a", "untested": "b"}, "exclude each other"),
    ],
)
def test_a_mistake_in_a_rule_is_named(changes, message):
    with pytest.raises(SpecificationError, match=message):
        parse([RULE | changes])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"basis": "code"}, "a MUST stands on claim, harm, words, or is derived and does harm; not on code"),
        ({"quote": ""}, "stands on words, and has no quote"),
        ({"quote": "word " * 13}, "its quote has more than 12 words"),
        ({"basis": "harm"}, "lacks harm"),
        ({"basis": "derived", "derived-from": ["queue.pop.fifo"]}, "lacks harm"),
        ({"level": "SHOULD", "basis": "derived"}, "derived-from and the basis 'derived' go together"),
        ({"derived-from": ["queue.pop.fifo"]}, "derived-from and the basis 'derived' go together"),
        ({"since": {"scrapy": "2.13"}}, "since scrapy 2.13 excludes no supported release"),
        ({"since": {"celery": "2.13"}}, "since names unknown libraries celery"),
        ({"fixed-in": {"celery": "2.13"}}, "fixed-in names unknown libraries celery"),
        ({"must-if": ["wings"]}, "must-if names no capability and no profile: wings"),
        ({"harm": "It hurts"}, "the harm does not end in a full stop"),
        ({"basis": "hope"}, "'hope' is not a valid Basis"),
    ],
)
def test_a_mistake_in_the_grounds_of_a_rule_is_named(changes, message):
    with pytest.raises(SpecificationError, match=message):
        parse([RULE | changes])


def test_what_is_not_tested_is_never_must():
    untestable = {name: value for name, value in RULE.items() if name != "how"} | {"untestable": "a duty of the user"}
    with pytest.raises(SpecificationError, match="what nothing tests is never MUST"):
        parse([untestable])


def test_the_oldest_supported_releases_are_those_of_the_package():
    required = {requirement.name: requirement for requirement in map(Requirement, requires("pytest-queue-conformance"))}
    assert {name: f">={release}" for name, release in OLDEST.items()} == {name: str(required[name].specifier) for name in OLDEST}


BOUND = RULE | {"binds": ["queuelib.queue.FifoDiskQueue"]}


@pytest.mark.parametrize(
    ("lineage", "claims", "level"),
    [
        ({"queuelib.queue.FifoDiskQueue"}, {}, Level.MUST),
        ({"mine.Queue", "queuelib.queue.FifoDiskQueue"}, {}, Level.MUST),
        ({"mine.Queue"}, {}, Level.SHOULD),
        ({"mine.Queue"}, {"follows": "queuelib.queue.FifoDiskQueue"}, Level.MUST),
        ({"mine.Queue"}, {"follows": "queuelib.queue.LifoDiskQueue"}, Level.SHOULD),
    ],
)
def test_a_rule_binds_the_class_of_which_its_source_speaks(lineage, claims, level):
    asked = rules_of(parse([BOUND]), DOWNSTREAM_QUEUE, SCRAPY, lineage, claims)
    assert asked[RULE["id"]].level is level


@pytest.mark.parametrize(("profile", "level"), [(EXTERNAL_QUEUE, Level.MUST), (SCRAPY, Level.SHOULD)])
def test_what_only_the_draft_says_of_schedulers_binds_those_that_are_held_to_it(profile, level):
    assert rules_of(load(), SCHEDULER, profile)["scheduler.enqueue.other-propagates"].level is level


def test_what_a_docstring_promises_makes_a_must_of_a_should():
    rules = parse([RULE | {"level": "SHOULD", "basis": "code", "must-if": ["docstring=by-priority"]}])
    for promised, level in (({"by-priority"}, Level.MUST), ({"fifo"}, Level.SHOULD), (set(), Level.SHOULD)):
        assert rules_of(rules, DOWNSTREAM_QUEUE, SCRAPY, promised=promised)[RULE["id"]].level is level


@pytest.mark.parametrize(
    ("condition", "claims", "level"),
    [
        ("crash-safe", {"crash-safe": "yes"}, Level.MUST),
        ("fifo", {"order": "FIFO"}, Level.MUST),
        ("fifo", {"order": "none"}, Level.SHOULD),
        ("crash-safe", {"crash-safe": "no"}, Level.SHOULD),
        ("crash-safe", {}, Level.SHOULD),
        ("profile=scrapy", {}, Level.MUST),
        ("profile=external-queue", {}, Level.SHOULD),
    ],
)
def test_a_claim_or_a_profile_makes_a_must_of_a_should(condition, claims, level):
    rules = parse([RULE | {"level": "SHOULD", "basis": "code", "must-if": [condition]}])
    assert rules_of(rules, DOWNSTREAM_QUEUE, SCRAPY, frozenset(), claims)[RULE["id"]].level is level


@pytest.mark.parametrize("field", ["id", "level", "sentence", "source", "basis", "why", "how", "kinds"])
def test_a_missing_field_is_named(field):
    with pytest.raises(SpecificationError, match=f"lacks {field}"):
        parse([_without(field)])


def test_an_id_that_occurs_twice_is_refused():
    with pytest.raises(SpecificationError, match="occurs twice"):
        parse([RULE, RULE])


def test_only_the_rules_of_the_profile_and_kind_are_asked():
    rules = rules_of(load(), BYTE_QUEUE, QUEUELIB)
    assert "queue.push.bytes-only" in rules
    assert "queue.ctor.from-crawler" not in rules
    assert "queue.push.transient-error" not in rules


@pytest.mark.parametrize(
    ("changes", "capabilities", "reason"),
    [
        ({}, set(), ""),
        ({"needs": ["peek", "clear"]}, {"peek"}, "needs clear"),
        ({"unless": ["shared"]}, {"shared"}, "not for shared"),
        ({"since": {"scrapy": "2.20"}}, set(), "since scrapy 2.20"),
        ({"since": {"scrapy": "2.13.1"}}, set(), ""),
        ({"since": {"qcrawl": "1"}}, set(), ""),
    ],
)
def test_a_rule_applies_where_its_needs_are_met(changes, capabilities, reason):
    rule = parse([RULE | changes])["queue.pop.something"]
    assert why_not_applicable(rule, capabilities, {"scrapy": "2.19.0"}) == reason


def test_a_hint_is_shown_where_it_fits():
    hints = (Hint("otherwise"), Hint("at times", "TypeError"), Hint("also then", "raised"), "from a report")
    assert fitting(hints, "TypeError raised") == ("at times", "also then")
    assert fitting(pickle.loads(pickle.dumps(hints)), "KeyError") == ("otherwise", "from a report")

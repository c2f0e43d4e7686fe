"""Each claim changes what is asked of a class, or is refused in one line: none is passed over in silence."""

import os
from urllib.parse import urlsplit

import pytest
from kit import ASYNC_MEMORY, FIFO_MEMORY, PRIORITY, SCHEDULER, SETTINGS, TESTS

from mutants import QCRAWL
from queue_conformance import LoadError, examine
from queue_conformance.discovery.claims import foreign, without_effect
from queue_conformance.engine.registry import part_of
from queue_conformance.implementation.capabilities import (
    ALLOWED,
    CLAIMS,
    ERRORS,
    FLAGS,
    UNSEEN,
    Capabilities,
    ClaimError,
    apply_claims,
    parse_claims,
)
from queue_conformance.kinds import DOWNSTREAM_QUEUE, DUPEFILTER
from queue_conformance.specification import load
from queue_conformance.specification.applicability import rules_of, why_not_applicable
from queue_conformance.specification.kinds import EXTERNAL_QUEUE, SCRAPY, all_kinds, all_profiles
from queue_reference.pqueues import SlotPriorityQueue

ALL = Capabilities(kept=True, **{name.replace("-", "_"): True for name in FLAGS})
BOTH = (Capabilities(), ALL)
NAMED = {"request": "a.Request", "transient-error": "a.Gone", "serialization-error": "a.Cannot"}
VALUES = [
    (name, value) for name in CLAIMS if name not in ("kind", "follows") for value in ALLOWED.get(name, (NAMED.get(name, ""),))
]


# --- What a claim says of a kind -------------------------------------------------------------------------------------


def asked(kind, profile, found, claims):
    """Return the rules that are asked of something that offers this, with their levels."""
    offered = apply_claims(found, claims).names
    rules = rules_of(load(), kind, profile, claims=claims).values()
    return {(rule.id, rule.level) for rule in rules if not why_not_applicable(rule, offered, {})}


def effects(kind, name, value):
    """Yield what is asked differently of a kind where this is claimed."""
    if name in part_of(kind, "smoke").SHOWN:
        yield "claims.true"
    if name in kind.heeds and (name not in FLAGS or name in UNSEEN or value == "no") and (name, value) != ("priority", "none"):
        yield "what its checks do"
    others = [other for other in ALLOWED.get(name, ()) if other != value]
    if name == "profile":
        if value == kind.profile or len(asked(kind, value, ALL, {})) > 1:
            yield "the rules of that profile"
        return
    for found in (ALL, *BOTH) if name in UNSEEN or name in ("order", "priority") else ():
        for profile in all_profiles():
            with_it = asked(kind, profile, found, {name: value})
            yield from (other for other in others if asked(kind, profile, found, {name: other}) != with_it)
    if name in FLAGS and value == "no":
        yield from (
            rule.id
            for rule in load().values()
            if kind in rule.kinds and name in {*rule.needs, *rule.unless, *rule.must_if, *rule.should_if}
        )


@pytest.mark.parametrize("kind", all_kinds(), ids=str)
def test_a_claim_says_something_of_a_kind_or_is_refused(kind):
    settings = {setting for setting in kind.heeds.values() if setting}
    for name, value in VALUES:
        line = foreign(kind, {name: value}, settings)
        # Of two directions that differ in no rule, one is what a kind is asked for anyway.
        silent = not set(effects(kind, name, value)) or (
            name == "priority" and kind in ("scheduler", "crawl") and value != "none"
        )
        assert bool(line) is silent, (name, value, line)
        assert "\n" not in line
        if line:
            assert line.startswith(f"the claim {name if value == 'yes' else f'{name}={value}'} says nothing of {kind.plural}")
            assert "drop it" in line


def test_a_class_that_a_kind_does_not_follow_is_refused():
    followed = {"follows": "queuelib.queue.FifoDiskQueue"}
    assert foreign(DOWNSTREAM_QUEUE, followed, ()) == ""
    assert foreign(DOWNSTREAM_QUEUE, {"follows": "scrapy.core.scheduler.Scheduler"}, ()).endswith(
        "do not speak of that class: drop it"
    )


# --- What a claim changes for a class --------------------------------------------------------------------------------

FILES = Capabilities(persistent=True, filesystem=True)
SERVER = Capabilities(persistent=True, server=True)


@pytest.mark.parametrize(
    ("claims", "found", "contracts", "said"),
    [
        (["shared"], FILES, [SCRAPY], ""),
        (["shared"], FILES, [EXTERNAL_QUEUE], ""),
        (["shared"], SERVER, [EXTERNAL_QUEUE, SCRAPY], ""),
        (["crash-safe"], FILES, [SCRAPY], ""),
        (
            ["crash-safe"],
            Capabilities(),
            [SCRAPY],
            "the claim crash-safe changes nothing here: queue.persist.crash-push needs pers",
        ),
        (
            ["transient-error"],
            FILES,
            [SCRAPY],
            "the claim transient-error changes nothing here: the profile scrapy knows no such ",
        ),
        (["serialization-error"], SERVER, [EXTERNAL_QUEUE, SCRAPY], ""),
    ],
)
def test_a_claim_that_adds_nothing_is_refused(claims, found, contracts, said):
    given = {name: NAMED.get(name, "yes") for name in claims}
    line = without_effect(DOWNSTREAM_QUEUE, given, frozenset(), found, contracts)
    assert line.startswith(said)
    assert bool(line) is bool(said)
    assert "\n" not in line


def test_a_claim_that_excuses_may_only_take_rules_away():
    filters = Capabilities(filters=True)
    assert without_effect(DUPEFILTER, {"probabilistic": "yes"}, frozenset(), filters, [SCRAPY]) == ""


def test_what_a_filter_ignores_is_claimed_together():
    assert parse_claims(["ignores=body,query"], ()) == {"ignores": "query,body"}
    assert apply_claims(Capabilities(), {"ignores": "query,body"}).ignores == ("query", "body")
    with pytest.raises(ClaimError, match=r"ignores' cannot be 'headers': write ignores=query\|.*or several"):
        parse_claims(["ignores=headers"], ())


def test_what_filters_nothing_ignores_nothing():
    line = without_effect(DUPEFILTER, {"ignores": "query"}, frozenset(), Capabilities(), [SCRAPY])
    assert line == "the claim ignores changes nothing here: it filters nothing; drop it"
    assert without_effect(DUPEFILTER, {"ignores": "query"}, frozenset(), Capabilities(filters=True), [SCRAPY]) == ""


class CountsItsOwnSlots(SlotPriorityQueue):
    """It serves hosts in turn, without a look at the downloader."""

    def _slot_of(self, request):
        return urlsplit(request.url).hostname

    def _active(self, slot):
        return 0


SCHEDULED = {"settings": SETTINGS.get(SCHEDULER, {})}
REFUSED = [
    (
        FIFO_MEMORY,
        ["crash-safe"],
        {},
        "the claim crash-safe changes nothing here: queue.persist.crash-push needs persistent; claim ",
    ),
    (
        FIFO_MEMORY,
        ["slots"],
        {},
        "the claim slots says nothing of downstream queues: drop it, or give it to those classes alone ",
    ),
    (
        CountsItsOwnSlots,
        ["slots"],
        {},
        "the claim slots changes nothing here, for probing does not find that it is so: it asks the dow",
    ),
    (PRIORITY, ["order=FIFO"], {}, "the claim order=FIFO says nothing of priority queues of bytes: drop it"),
    (
        SCHEDULER,
        ["redelivers"],
        SCHEDULED,
        "the claim redelivers changes nothing here: e2e.shared.redelivered needs server and sh",
    ),
    (
        SCHEDULER,
        ["priority=lower-first"],
        SCHEDULED,
        "the claim priority=lower-first says nothing of schedulers; write priority=none",
    ),
    *(
        [(ASYNC_MEMORY, ["priority=none"], {}, "the claim priority=none says nothing of asynchronous queues; write ")]
        if QCRAWL
        else []
    ),
]


@pytest.mark.parametrize(("cls", "claims", "given", "said"), REFUSED)
def test_what_would_be_silent_is_refused_in_one_line(cls, claims, given, said):
    with pytest.raises(LoadError) as caught:
        examine(cls, claims=claims, **given)
    path = cls if isinstance(cls, str) else "test_claims.CountsItsOwnSlots"
    assert str(caught.value).startswith(f"{path}: {said}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "said"),
    [("pickle.Pickler", "pickle.Pickler is no exception"), ("pickle.Nothing", "pickle has no class 'Nothing'")],
)
def test_an_error_that_is_none_is_said_with_the_claim_that_names_it(path, said):
    with pytest.raises(LoadError) as caught:
        examine(FIFO_MEMORY, claims=[f"transient-error={path}"])
    assert str(caught.value).startswith(f"the claim transient-error={path}: {said}")


def test_what_is_said_for_all_is_taken_back_for_one():
    (found,) = examine(FIFO_MEMORY, claims=["shared=no", "crash-safe=no"], rules="smoke").implementations
    assert found.claims == {"shared": "no", "crash-safe": "no"}


# --- By every entrance -----------------------------------------------------------------------------------------------

LINE = f"{FIFO_MEMORY}: the claim crash-safe changes nothing here: queue.persist.crash-push needs persistent; "
TABLE = f'[tool.queue_conformance.implementations.mine]\nqueue-class = "{FIFO_MEMORY}"\nclaims = ["crash-safe"]\n'
SUITE = f'''
from queue_conformance import DownstreamQueueSuite

class TestMine(DownstreamQueueSuite):
    queue_class = "{FIFO_MEMORY}"
    claims = ["crash-safe"]
'''


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ([f"--queue-class={FIFO_MEMORY}", "--conformance-claim=crash-safe"], "--queue-class"),
        (["--conformance"], "mine"),
        (["test_mine.py", "-k", "smoke"], "test_mine.py::TestMine"),
    ],
)
@pytest.mark.usefixtures("wide_terminal")
def test_every_entrance_refuses_it(pytester, monkeypatch, arguments, where):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
    pytester.makepyprojecttoml(TABLE)
    pytester.makepyfile(test_mine=SUITE)
    result = pytester.runpytest_subprocess("-q", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines([f"ERROR: {where}: {LINE}*"])


def test_every_error_and_flag_is_a_claim():
    assert {*FLAGS, *ERRORS} < {*CLAIMS}

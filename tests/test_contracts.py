"""A queue behind a server is measured by two contracts: each has a verdict, and one of them decides whether the run fails."""

import pytest
from kit import TESTS, examine

from queue_conformance import examine as examine_classes
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.reports import Report, files, jsonl, terminal

SETTINGS = {"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5"}
LEAKY = "mutants.redis.RaisesWhatTheClientRaises"
TRANSIENT = "queue.push.transient-error"  # a rule of one contract
CLEAN = "queue.ctor.empty-clean"  # a rule of the other


def verdicts(report):
    return {verdict.rule.id: verdict.verdict for verdict in report.verdicts}


def measured(path, claims=(), rules=(TRANSIENT, CLEAN), **how):
    return examine_classes(path, settings=SETTINGS, server="redis", claims=claims, rules=rules, examples=10, **how)


def test_a_queue_whose_server_is_named_is_held_to_the_documented_interface():
    (found,) = measured(LEAKY).implementations
    assert found.profile == "external-queue"
    assert found.verdict is RunVerdict.NON_CONFORMANT
    assert verdicts(found)[TRANSIENT] is Verdict.FAILED
    assert CLEAN not in verdicts(found)
    assert found.also.profile == "scrapy"
    assert verdicts(found.also)[CLEAN] is Verdict.PASSED
    assert TRANSIENT not in verdicts(found.also)


def test_what_another_contract_finds_fails_no_run():
    report = measured(LEAKY, claims=["profile=scrapy"])
    (found,) = report.implementations
    assert found.profile == "scrapy"
    assert found.also.profile == "external-queue"
    assert found.also.verdict is RunVerdict.NON_CONFORMANT
    assert verdicts(found.also)[TRANSIENT] is Verdict.FAILED
    assert found.verdict is RunVerdict.PARTIAL  # few checks were run
    assert not report.failed


@pytest.mark.further
def test_what_another_contract_finds_is_no_failed_test(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    settings = [f"--queue-setting={name}={value}" for name, value in SETTINGS.items()]
    arguments = [f"--queue-class={LEAKY}", "--queue-server=redis", *settings, "-k", TRANSIENT]
    assert pytester.runpytest_subprocess(*arguments).ret == pytest.ExitCode.TESTS_FAILED
    result = pytester.runpytest_subprocess(*arguments, "--conformance-claim=profile=scrapy", "--conformance-report=r.jsonl")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  by the profile external-queue, which fails no run: NON-CONFORMANT*", f"*{TRANSIENT}*"])
    (found,) = jsonl.read(pytester.path / "r.jsonl").implementations
    assert verdicts(found.also)[TRANSIENT] is Verdict.FAILED


class Handmade:
    """A queue on a server that Scrapy could not build."""

    def __init__(self, crawler, key, *, here):
        assert here
        self._queue = _reference()(crawler, key)

    def push(self, request):
        self._queue.push(request)

    def pop(self):
        return self._queue.pop()

    def close(self):
        self._queue.close()

    def __len__(self):
        return len(self._queue)


def _reference():
    from queue_reference.redis import FifoRedisQueue

    return FifoRedisQueue


def test_a_queue_that_scrapy_could_not_build_is_held_to_what_scrapy_relies_on():
    report = measured(Handmade, open_queue=lambda crawler, key: Handmade(crawler, key, here=True), rules=[CLEAN])
    (found,) = report.implementations
    assert found.profile == "scrapy"
    assert found.also.profile == "external-queue"


def test_an_error_of_a_name_of_its_own_is_known_to_the_documented_interface_alone():
    rule = "queue.push.serialization-error"
    (found,) = measured("mutants.controls.NamesItsOwnError", rules=[rule]).implementations
    assert verdicts(found)[rule] is Verdict.PASSED
    assert verdicts(found.also)[rule] is Verdict.FAILED


def test_a_queue_without_a_server_has_one_contract():
    assert examine("queue_reference.disk.FifoDiskQueue", only="smoke").also is None


def test_every_form_of_a_report_tells_of_the_second_contract(tmp_path):
    report = measured(LEAKY, claims=["profile=scrapy"], rules=[TRANSIENT])
    said = "by the profile external-queue, which fails no run: NON-CONFORMANT"
    for ending in ("html", "md", "xml"):
        files.write(report, tmp_path / f"r.{ending}")
        assert said in (tmp_path / f"r.{ending}").read_text().replace("\\", ""), ending
    assert said in "\n".join(line.text for line in terminal.render(report, 200))
    again = jsonl.parse(jsonl.render(report))
    assert isinstance(again, Report)
    assert verdicts(again.implementations[0].also) == verdicts(report.implementations[0].also)

"""Checks of what is remembered in later runs."""

from __future__ import annotations

import logging

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.registry import check
from queue_conformance.faults.backend import VARIABLE
from queue_conformance.implementations.drivers.dupefilter import Requests
from queue_conformance.implementations.quoted import running
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.implementations.scripts import lines_of
from queue_conformance.suites.dupefilters import FILTERS
from queue_conformance.suites.processes import expect_in_another_process

RESUME = "dupefilter.persist.resume"
APPEND = "dupefilter.persist.append"
UNKNOWN = "dupefilter.format.unknown"

SEEN = 20
"""Requests that another process must remember."""


@check(RESUME, kinds=FILTERS)
def what_was_seen_is_seen_in_the_next_run(bench: Bench) -> None:
    run(bench, "seen:0 seen:1 seen:2 seen:1 reopen seen:0 seen:3 seen:1 seen:2")
    run(bench, "seen:6 seen:5 reopen seen:4 seen:6")
    _in_another_process(bench)


def _in_another_process(bench: Bench) -> None:
    """See requests in this process, and ask for them in another one."""
    bench.restart()
    dupefilter = bench.open()
    requests = bench.driver.requests(0, SEEN)
    dupefilter.all_seen(requests)
    dupefilter.close()
    lines = _lines_for_two_processes(bench, requests)
    expect_in_another_process(bench, RESUME, lines, f"all {SEEN} seen in another process")


def _lines_for_two_processes(bench: Bench, requests: Requests) -> list[str]:
    """Return the body of a script that sees in one process, and asks in another one."""
    opening = bench.recorder.steps[0].source
    return [
        "if len(sys.argv) == 1:  # the first process",
        *(f"    {line}" for line in lines_of(bench.recorder.steps)),
        *([f"    os.environ[{VARIABLE!r}] = f'{{backend.host}}:{{backend.port}}'"] if bench.backend else []),
        "    sys.exit(subprocess.run([sys.executable, __file__, directory]).returncode)",
        "directory = sys.argv[1]",
        "crawler_with({})  # where this fails, it is not the class that fails",
        "print('ready', flush=True)",
        opening,
        f"seen = {requests.asked('dupefilter')}",
        "assert all(seen), f'{seen.count(False)} of {len(seen)} not seen in another process'",
        'dupefilter.close("finished")',
    ]


@check(APPEND, kinds=FILTERS)
def runs_accumulate(bench: Bench) -> None:
    run(bench, "seen:0 seen:1 reopen seen:2 reopen seen:3 reopen reopen seen:0 seen:1 seen:2 seen:3")
    run(bench, "seen:0 reopen reopen seen:1 reopen seen:0 seen:1")


# --- Foreign files ---------------------------------------------------------------------------------------------------

LISTED = 12
"""Requests whose fingerprints are in the foreign file."""

_FORMATS = {
    "a line of text for each fingerprint, as up to Scrapy 2.18": "b''.join(fp.hex().encode() + b'\\n' for fp in fingerprints)",
    "length and fingerprint in binary, as in Scrapy 2.19": "b''.join(len(fp).to_bytes(2, 'big') + fp for fp in fingerprints)",
}


@check(UNKNOWN, kinds=FILTERS)
def foreign_files_are_not_misread(bench: Bench) -> None:
    for name, content in _FORMATS.items():
        with bench.collecting():
            bench.restart()
            _give(bench, name, content)


def _give(bench: Bench, name: str, content: str) -> None:
    """Put the content of another format in the place of all files, and ask."""
    driver, record = bench.driver, bench.recorder
    requests = driver.requests(0, LISTED)
    fresh = driver.requests(LISTED, 2 * LISTED)
    dupefilter = bench.open()
    dupefilter.all_seen(requests)
    fingerprinter = dupefilter.crawler.request_fingerprinter
    assert fingerprinter is not None
    fingerprints = [fingerprinter.fingerprint(request) for request in requests.values]
    record.note("fingerprint = spider.crawler.request_fingerprinter.fingerprint")
    record.note(f"fingerprints = [fingerprint({requests.source}) for n in {requests.numbers}]")
    dupefilter.close()
    record.note(f"overwrite_files({driver.job_source()}, {content})")
    running.overwrite_files(driver.job(), eval(content, {"fingerprints": fingerprints}))
    root = logging.getLogger()
    level = root.level
    records = running.Records(logging.WARNING)
    record.note("records = Records(logging.WARNING)")
    try:
        with record.blame(UNKNOWN):
            dupefilter = bench.open()
            seen = dupefilter.all_seen(requests)
            other = dupefilter.all_seen(fresh, variable="other")
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raised.step.refusable = True  # an exception is right
            raise
        bench.examined[UNKNOWN] += 1
        return
    finally:
        root.removeHandler(records)
        root.setLevel(level)
    for step in record.steps[-3:]:
        step.refusable = True
    right = bool(records.texts) or (all(seen) and not any(other))
    actual = f"without a word, {sum(map(bool, seen))} of {LISTED} fingerprints understood from a file with {name}"
    expected = "an exception, a warning, or right answers"
    bench.expect(UNKNOWN, right, expected, actual, "records.texts or (all(seen) and not any(other))", final=True)

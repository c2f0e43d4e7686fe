"""Crawls of one job, one after the other, and what is wrong with them."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from queue_conformance.engine import process
from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.scripts import source_of_settings
from queue_conformance.environments import crawls
from queue_conformance.environments.crawls import Crawled, Pages, Stop
from queue_conformance.faults.filesystem import obey_modes

crawls.preload()  # once, and not in every process that is forked

JOB = "job"
"""The job directory, in that of the project."""

KNOWN = {"scrapy.cfg", "example_settings.py", "example_spider.py", "__pycache__", JOB}
"""What is in the directory of the project."""

PATIENCE = 30.0
"""Seconds that one crawl gets at least; it takes a tenth of a second where nothing else runs."""

SMALL: Pages = {0: [1, 2, 3], 1: [4], 2: [0, 5], 3: [1], 4: [], 5: [3]}
"""The site of the shortest counterexamples."""

COMMAND, SIGNAL, STATE, FINISHED, CONTAINED = (
    "job.resume.command",
    "job.resume.signal",
    "job.resume.state",
    "job.resume.finished",
    "job.contained",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Crawls of one job.

    Attributes:
        pages: the site.
        stops: how each crawl is stopped.
        settings: what the command line sets besides.
        before: lines of Python that come before the first one; the project is in ``directory``.
    """

    pages: Pages
    stops: tuple[Stop, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    before: tuple[str, ...] = ()

    def closing(self) -> Plan:
        """Return the plan in which the spider is closed after as many pages, instead of signals, one request at a time."""
        stops = [Stop(closing=stop.after or 1) if stop.signals else stop for stop in self.stops]
        return Plan(self.pages, tuple(stops), {**self.settings, "CONCURRENT_REQUESTS": 1})


@dataclass(frozen=True, slots=True)
class Series:
    """What came of a plan.

    Attributes:
        plan: the plan.
        runs: the crawls; fewer than planned if one did not end.
        strays: the names of what is beside the job directory and was not there before.
    """

    plan: Plan
    runs: tuple[Crawled, ...]
    strays: tuple[str, ...]

    @property
    def hits(self) -> list[int]:
        """The pages that all crawls asked for, in order."""
        return [page for run in self.runs for page in run.hits]

    @property
    def resumed(self) -> bool:
        """Whether a crawl had something to do that another one had left."""
        return len([run for run in self.runs if run.hits]) > 1


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a series.

    Attributes:
        rule: the id of the rule that it breaks.
        expected: what the rule asks for.
        actual: what came instead.
        tail: lines of a script that fail if it is so; those of the crawls come before.
        number: how many of the crawls are needed to show it.
    """

    rule: str
    expected: str
    actual: str
    tail: Sequence[str]
    number: int


def play(bench: Bench, plan: Plan) -> Series:
    """Run the crawls of a plan in a new project.

    Args:
        bench: whose scheduler they use.
        plan: the plan.

    Raises:
        NotExercised: if nothing can be crawled here.
    """
    if not process.AVAILABLE:
        raise NotExercised("this platform cannot fork")
    if bench.implementation.opener is not None:
        raise NotExercised("the command line of Scrapy does not call the function that builds the scheduler")
    if bench.implementation.prepare is not None:
        raise NotExercised("the command line of Scrapy does not call the function that prepares spiders")
    if not bench.implementation.importable:
        raise NotExercised("the command line of Scrapy cannot import the class")
    if not bench.offers("filters"):
        plan = replace(plan, pages=crawls.tree(plan.pages))  # or else the crawl would never end
    bench.restart()
    bench.recorder.note(f"pages = {dict(plan.pages)}")
    directory = bench.driver.directory / "project"
    directory.mkdir()
    runs: list[Crawled] = []
    # What a server holds is found by the name of the spider.
    name = f"example-{uuid.uuid4().hex[:8]}" if bench.implementation.server else "example"
    with crawls.project(directory, plan.pages, max(PATIENCE, 3 * bench.time_limit), name) as made:
        for line in plan.before:
            bench.recorder.note(line)
            exec(line, {"directory": str(directory), "Path": Path, "obey_modes": obey_modes})
        for stop in plan.stops:
            runs.append(made.crawl({**_settings(bench), **plan.settings}, stop))
            bench.recorder.note(_shown(runs[-1]))
            if runs[-1].hung:
                break
    if not runs[0].hits and not _can_crawl(bench):
        raise NotExercised(f"`scrapy crawl` does not work here with Scrapy's own scheduler either: {runs[0].trouble}")
    strays = {path.name for path in directory.iterdir()} - KNOWN
    return Series(plan, tuple(runs), tuple(sorted(strays)))


def _settings(bench: Bench) -> dict[str, object]:
    return {"SCHEDULER": bench.implementation.path, **bench.implementation.values, "JOBDIR": JOB}


def _can_crawl(bench: Bench) -> bool:
    """Whether a crawl without a job and without the class under test downloads a page."""
    directory = bench.driver.directory / "control"
    directory.mkdir()
    with crawls.project(directory, {0: []}, PATIENCE) as made:
        return made.crawl({}).hits == (0,)


def _shown(run: Crawled) -> str:
    stop = run.stop
    how = [number.name for number in stop.signals]
    said = [f"{' and '.join(how)} after {len(run.hits) - len(run.waiting)} pages"] if run.sent else []
    said += [f"{len(run.waiting)} in flight"] if run.waiting else []
    said += [f"closed after {stop.closing} pages"] if stop.closing else []
    downloaded = ", ".join(map(str, run.hits)) or "nothing"
    return f"scrapy crawl example -s JOBDIR={JOB}  # {'; '.join([*said, f'downloaded {downloaded}'])}"


# --- Judgement -------------------------------------------------------------------------------------------------------


def problems(bench: Bench, series: Series) -> Iterator[Problem]:
    """Yield what is wrong, the worst first; whoever asks for more must know that it may follow from what came before.

    The last crawl of a plan but one must finish the job, unless an earlier one did; those after it must find nothing to do.
    """
    *_, before_last, _ = range(len(series.plan.stops))
    for number, run in enumerate(series.runs):
        yield from _problems_of_run(series, number, run, finishes=number >= before_last)
    last = next((number for number, run in enumerate(series.runs[:before_last]) if run.finished), before_last)
    count = Counter(page for run in series.runs[: last + 1] for page in run.hits)
    expected = f"every page once: {', '.join(map(str, series.plan.pages))}"
    downloaded = "sorted(site.hits)" if bench.offers("filters") else "sorted(set(site.hits))"
    tail = [f"assert {downloaded} == {sorted(series.plan.pages)}, f'downloaded {{site.hits}}'"]
    first = series.runs[0]
    if not first.hits:
        yield Problem(COMMAND, "a crawl that downloads page 0", first.trouble or "it downloads nothing", tail, 1)
    if lost := [page for page in series.plan.pages if not count[page]]:
        yield Problem(COMMAND, expected, f"never downloaded: {_listed(lost)}", tail, last + 1)
    if bench.offers("filters") and (repeated := [page for page in series.plan.pages if count[page] > 1]):
        yield Problem(COMMAND, expected, f"downloaded more than once: {_listed(repeated)}", tail, last + 1)
    counts = [number for run in series.runs[: last + 1] for number in run.counts]
    if counts != list(range(1, len(counts) + 1)):
        gap = next(number for number, found in enumerate(counts) if found != number + 1)
        tail = ["counts = [int(line.split()[2]) for run in runs for line in run if line.startswith('parsed ')]"]
        tail += ["assert counts == list(range(1, len(counts) + 1)), counts"]
        expected = f"{gap} pages counted in spider.state when the next one comes"
        yield Problem(STATE, expected, f"{counts[gap] - 1} pages counted", tail, last + 1)
    again = next((number for number, run in enumerate(series.runs) if number > last and run.hits), 0)
    if bench.offers("filters") and again:
        tail = [f"assert len(site.hits) == {len(series.plan.pages)}, f'downloaded {{site.hits}}'"]
        actual = f"downloaded {_listed(series.runs[again].hits)}"
        yield Problem(FINISHED, "nothing downloaded after the job finished", actual, tail, again + 1)
    if series.strays:
        tail = [f"strays = set(os.listdir(directory)) - {{{', '.join(map(repr, sorted(KNOWN)))}}}"]
        tail += ["assert not strays, strays"]
        yield Problem(CONTAINED, f"nothing new outside of {JOB}", f"written: {', '.join(series.strays)}", tail, last + 1)


def _problems_of_run(series: Series, number: int, run: Crawled, *, finishes: bool) -> Iterator[Problem]:
    rule = SIGNAL if run.sent else COMMAND
    if run.hung:
        tail = ["assert site.process.returncode != -signal.SIGKILL, 'the crawl did not end'"]
        yield Problem(rule, "a crawl that ends", "it was still running when the time was over", tail, number + 1)
    if finishes and not run.finished:
        tail = ["assert any('Spider closed (finished)' in line for line in runs[-1]), ended(runs[-1])"]
        actual = run.trouble or f"it ended with status {run.status}"
        yield Problem(rule, f"crawl {number + 1} goes on to the end of the job", actual, tail, number + 1)
    elif missing := [page for page in run.hits if page not in run.parsed]:
        tail = ["parsed = {int(line.split()[1]) for run in runs for line in run if line.startswith('parsed ')}"]
        tail += ["assert parsed >= set(site.hits), f'no callback for {set(site.hits) - parsed}'"]
        expected = "the callback for every page in flight"
        yield Problem(rule, expected, f"no callback for {_listed(missing)}", tail, number + 1)


def _listed(pages: Sequence[int]) -> str:
    return ", ".join(map(str, pages))


def report(bench: Bench, series: Series, found: Problem) -> NoReturn:
    """Report a problem as a broken rule.

    Args:
        bench: where.
        series: the crawls that show it; the steps of the bench are theirs.
        found: the problem.

    Raises:
        RuleBroken: always.
    """
    body = [*script(bench, series.plan, found.number), *found.tail]
    bench.fail(found.rule, found.expected, found.actual, [], body=body, final=True)


def script(bench: Bench, plan: Plan, number: int) -> list[str]:
    """Return the lines of a script that run the first crawls of a plan.

    Args:
        bench: whose scheduler they use.
        plan: the plan.
        number: how many crawls.
    """
    cls = bench.driver.class_name
    given = source_of_settings({**bench.implementation.settings, "JOBDIR": JOB, "CONCURRENT_REQUESTS": 4, **plan.settings})
    scheduler = f'"SCHEDULER": f"{{{cls}.__module__}}.{{{cls}.__qualname__}}"'
    lines = [
        f"site = Site({dict(plan.pages)})",
        "make_project(directory)",
        f'settings = {{{scheduler}, "SITE": site.url, {given[1:-1]}}}',
        "runs = []",
    ]
    lines += plan.before
    for stop in plan.stops[:number]:
        extra = f' | {{"CLOSESPIDER_PAGECOUNT": {stop.closing}}}' if stop.closing else ""
        how = (
            f", [{', '.join(f'signal.{s.name}' for s in stop.signals)}], after={stop.after}, held={stop.held}"
            if stop.signals
            else ""
        )
        lines.append(f"runs.append(site.crawl(lambda: scrapy_crawl(directory, settings{extra}){how}))")
    return lines

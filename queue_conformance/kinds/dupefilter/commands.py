"""The commands of dupefilters, in lockstep with a model."""

from __future__ import annotations

from scrapy.dupefilters import BaseDupeFilter

from queue_conformance.engine.ablation import Ablation, drop, replace
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import Lockstep, command, machine
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.runner import Run, Runner
from queue_conformance.engine.sequences import Command, Commands, commands
from queue_conformance.environments import runs
from queue_conformance.environments.component import files_in
from queue_conformance.kinds.dupefilter.driver import Filter
from queue_conformance.kinds.dupefilter.model import DupeFilterModel

VARIABLES = ("dupefilter", "other")

STAT = "dupefilter/filtered"


ITEMS = 8
"""Different requests that sequences ask for."""


def files_with(context: CheckContext, numbers: range) -> dict[str, bytes]:
    """Return the contents of the files of a job, by their names, after a run that sees requests with these numbers."""
    dupefilter = context.open()
    for number in numbers:
        dupefilter.request_seen(context.driver.item(number))
    dupefilter.close()
    return files_in(context.driver.job())


def size_of_record(context: CheckContext) -> int:
    """Return how many bytes are appended for the last request that is seen; 0 if files are not only appended to.

    Only what is appended can be torn by a crash: files that are replaced, or written in place by a database, are not.
    """
    context.restart()
    try:
        before, after = files_with(context, range(8)), files_with(context, range(8, 9))
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
        return 0
    if before.keys() != after.keys() or not all(after[name].startswith(data) for name, data in before.items()):
        return 0
    return max((len(after[name]) - len(data) for name, data in before.items()), default=0)


def torn_ends(context: CheckContext) -> list[int]:
    """Return how much is cut off what a run has written."""
    torn = context.offers("persistent", "filesystem") and not context.driver.without_close
    size = size_of_record(context) if torn else 0
    return sorted({1, size // 2, size - 1}) if size > 1 else []


def _without_early_reopenings(run: Run) -> Commands:
    """Leave out all reopenings but the last one of each filter."""
    numbered = list(enumerate(run.commands))
    last = {command.subject: number for number, command in numbered if command.name == "reopen"}
    return tuple(command for number, command in numbered if command.name != "reopen" or number in last.values())


def _each_run_is_the_first(runner: Runner, run: Run, _failure: RuleFailed) -> str | None:
    """Say that it takes several runs to fail, if everything is remembered where each of the runs is the first one."""
    ends = [place for place, command in enumerate(run.commands) if command.name in _ENDS]
    firsts = [tuple(command for command in run.commands[:end] if command.name not in _ENDS) for end in ends]
    return (
        "dupefilter.persist.append" if all(runner.passes((*first, Command("reopen")), run.subjects) for first in firsts) else None
    )


def _of_damage(_runner: Runner, run: Run, _failure: RuleFailed) -> str:
    """Say which rule on torn files failed: whether it shows in a later run, after a clean close."""
    return (
        "dupefilter.crash.then-clean" if run.at is not None and run.at.name == "reopen" else "dupefilter.crash.no-false-positive"
    )


_ENDS = ("reopen", "tear")
FORGETS = ("dupefilter.seen.first", "dupefilter.persist.resume")


class FilterLockstep(Lockstep):
    """One dupefilter and its model.

    Filters that are open side by side have job directories of their own.
    """

    needed = ("seen",)
    covers = ("dupefilter.persist.append", "dupefilter.crash.then-clean")
    ablations = (
        Ablation(replace("tear", name="reopen"), "dupefilter.crash.then-clean", of=FORGETS),
        Ablation(
            replace("tear", name="reopen"),
            _of_damage,
            unless=FORGETS,
            choices=("dupefilter.crash.no-false-positive", "dupefilter.crash.then-clean"),
        ),
        Ablation(
            _without_early_reopenings,
            _each_run_is_the_first,
            of=["dupefilter.persist.resume"],
            choices=("dupefilter.persist.append",),
        ),
        Ablation(drop("reopen"), "dupefilter.persist.resume", of=["dupefilter.seen.first"]),
    )

    def __init__(self, context: CheckContext, number: int) -> None:
        super().__init__(context, number)
        self.variable = VARIABLES[number]
        self.job = f"job{number or ''}"
        self.model = DupeFilterModel(context.offers("filters"), exact=not context.offers("probabilistic"))
        self.refused = False
        self._logs = getattr(context.implementation.cls, "log", None) is not BaseDupeFilter.log
        self._logged = 0
        self._torn = False
        self.dupefilter: Filter = self._open()

    @classmethod
    def table(cls, context: CheckContext) -> dict[Command, int]:
        found = super().table(context)
        if not context.offers("server"):  # there, the job directory separates nothing
            found |= dict.fromkeys(commands("1.seen:0 1.seen:1 1.seen:2 1.seen:3 1.reopen"), 1)
        return found

    # --- Commands --------------------------------------------------------------------------------------------------

    @command("dupefilter.seen.first", "dupefilter.seen.no-false-positive", "dupefilter.base.never", arguments=range(ITEMS))
    def seen(self, item: int) -> None:
        """Ask for a request of the pool, and judge the answer."""
        if self.refused:
            return
        allowed = self.model.allowed(item)
        rule = "dupefilter.crash.no-false-positive" if self._torn else self._rule(item, False not in allowed)
        try:
            with self.about(rule):
                seen = self.dupefilter.request_seen(self.context.driver.item(item))
        except OperationRaised as raised:
            if self._torn and isinstance(raised.error, Exception):  # a damaged file may show late
                self.refused = True
                return
            raise
        if len(allowed) == 1:
            (right,) = allowed
            expected = f"{right} for {self.context.driver.item(item).source}"
            self.expect(self._rule(item, right), lambda seen: bool(seen) is right, seen, expected=expected)
            self._credit(item, right)
        self.model.see(item, bool(seen))

    @command("dupefilter.log.stat", arguments=(0, 1))
    def log(self, item: int) -> None:
        """Let a request of the pool be filtered, as the scheduler does it, and compare the statistic."""
        self.seen(item)
        if self.refused or not self._logs or not self.context.offers("filters"):
            return
        self.seen(item)
        self.dupefilter.log(self.context.driver.item(item), self.dupefilter.spider)
        self._logged += 1
        stats = self.sources.give(self.dupefilter.spider.crawler.stats, "spider.crawler.stats")
        count = stats.get_value(STAT)
        self.expect("dupefilter.log.stat", lambda: stats.get_value(STAT) == self._logged, actual=describe(count), final=True)

    @command("dupefilter.persist.resume", weight=3)
    def reopen(self) -> None:
        """End the run cleanly, and begin another one in the same job directory."""
        if self.refused:
            return
        self.dupefilter.close()
        if self.context.offers("persistent"):
            self.model.reopen()
        else:
            self.model.forget()
        self.dupefilter = self._open()

    @command("dupefilter.crash.no-false-positive", arguments=torn_ends)
    def tear(self, number: int) -> None:
        """End the run, cut the ends of its files, and begin another one, which may refuse."""
        if self.refused:
            return
        self.dupefilter.close()
        job = self.sources.give(self.context.driver.job(self.job), self.context.driver.job_source(self.job))
        self.perform(runs.cut_files, job, number)
        self.model.forget()
        self._torn = True
        try:
            with self.context.recorder.attribute("dupefilter.crash.no-false-positive"):
                self.dupefilter = self._open()
        except OperationRaised as raised:
            if not isinstance(raised.error, Exception):
                raised.step.refusable = True  # an exception is no false answer
                raise
            self.refused = True

    def finish(self) -> None:
        """Ask for everything in the pool, and close."""
        for item in range(ITEMS):
            self.seen(item)
        if not self.refused:
            self.dupefilter.close()

    # --- Comparisons ---------------------------------------------------------------------------------------------------

    def _open(self) -> Filter:
        self._logged = 0
        opened: Filter = self.context.open(self.job, self.variable)
        return opened

    def _rule(self, item: int, expected: bool) -> str:
        """Return the rule that says whether a request is seen."""
        if not self.context.offers("filters"):
            return "dupefilter.base.never"
        if not expected:
            return "dupefilter.seen.no-false-positive"
        return "dupefilter.persist.resume" if self.model.runs_since(item) else "dupefilter.seen.first"

    def _credit(self, item: int, expected: bool) -> None:
        self.covered["dupefilter.persist.append"] += expected and self.model.runs_since(item) > 1
        self.covered["dupefilter.crash.no-false-positive"] += not expected and self._torn
        self.covered["dupefilter.crash.then-clean"] += expected and self._torn and self.model.runs_since(item) > 0


LOCKSTEP = FilterLockstep

machine(FilterLockstep)

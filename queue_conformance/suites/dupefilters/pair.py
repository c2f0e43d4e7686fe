"""A duplicates filter and its oracle, side by side."""

from __future__ import annotations

from typing import Any

from scrapy.dupefilters import BaseDupeFilter

from queue_conformance.implementations.drivers.component import files_in
from queue_conformance.implementations.drivers.dupefilter import OpenFilter
from queue_conformance.implementations.quoted import running
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.models.dupefilter import DupeFilterModel
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import RuleBroken
from queue_conformance.suites.programs import Experiment, Operation, Play, Player, Program

VARIABLES = ("dupefilter", "other")

STAT = "dupefilter/filtered"

DAMAGED = "dupefilter.crash.no-false-positive"
"""The rule that speaks of files that were damaged; an exception is no false answer, but a hang and an exit are."""


class FilterPair:
    """One duplicates filter and its oracle; the operations of programs are its methods.

    Args:
        bench: where the check works.
        number: which of the filters that are open side by side this is; each has a job directory of its own.

    Every method raises ``RuleBroken`` at a difference, and ``OperationRaised`` if the implementation raises.
    """

    def __init__(self, bench: Bench, number: int) -> None:
        self.bench = bench
        self.variable = VARIABLES[number]
        self.job = f"job{number or ''}"
        self.model = DupeFilterModel(bench.offers("filters"), exact=not bench.offers("probabilistic"))
        self.refused = False
        self._examined = bench.examined
        self._logs = getattr(bench.implementation.cls, "log", None) is not BaseDupeFilter.log
        self._logged = 0
        self._torn = False
        self.dupefilter: OpenFilter = self._open()

    # --- Operations --------------------------------------------------------------------------------------------------

    def seen(self, item: int) -> None:
        """Ask for a request of the pool, and judge the answer."""
        if self.refused:
            return
        allowed = self.model.allowed(item)
        owner = DAMAGED if self._torn else self._rule(item, False not in allowed)
        try:
            seen = self.dupefilter.seen(self.bench.driver.item(item), owner=owner)
        except OperationRaised as raised:
            if self._torn and isinstance(raised.error, Exception):  # a damaged file may show late
                self.refused = True
                return
            raise
        if bool(seen) not in allowed:
            expected = True in allowed
            rule = self._rule(item, expected)
            what = f"{expected} for {self.bench.driver.item(item).source}"
            assertion = "seen" if expected else "not seen"
            self.bench.fail(rule, what, seen, [f"assert {assertion}, {'expected ' + what!r}"])
        self._credit(item, allowed)
        self.model.see(item, bool(seen))

    def log(self, item: int) -> None:
        """Let a request of the pool be filtered, as the scheduler does it, and compare the statistic."""
        self.seen(item)
        if self.refused or not self._logs or not self.bench.offers("filters"):
            return
        self.seen(item)
        self.dupefilter.log(self.bench.driver.item(item))
        self._logged += 1
        stats: Any = self.dupefilter.crawler.stats
        left = stats.get_value(STAT)
        self.bench.recorder.note(f'left = spider.crawler.stats.get_value("{STAT}")')
        rule = "dupefilter.log.stat"
        self.bench.expect(rule, left == self._logged, str(self._logged), left, f"left == {self._logged}", final=True)

    def reopen(self, _item: int = 0) -> None:
        """End the run cleanly, and begin another one in the same job directory."""
        if self.refused:
            return
        self.dupefilter.close()
        if self.bench.offers("persistent"):
            self.model.reopen()
        else:
            self.model.forget()
        self.dupefilter = self._open()

    def tear(self, number: int) -> None:
        """End the run, cut the ends of its files, and begin another one, which may refuse."""
        if self.refused:
            return
        self.dupefilter.close()
        self.bench.recorder.note(f"cut_files({self.bench.driver.job_source(self.job)}, {number})")
        running.cut_files(self.bench.driver.job(self.job), number)
        self.model.forget()
        self._torn = True
        try:
            with self.bench.recorder.blame(DAMAGED):
                self.dupefilter = self._open()
        except OperationRaised as raised:
            if not isinstance(raised.error, Exception):
                raised.step.refusable = True  # an exception is right
                raise
            self.refused = True

    def finish(self) -> None:
        """Ask for everything in the pool, and close."""
        for item in range(ITEMS):
            self.seen(item)
        if not self.refused:
            self.dupefilter.close()

    # --- Judgement ---------------------------------------------------------------------------------------------------

    def _open(self) -> OpenFilter:
        self._logged = 0
        opened: OpenFilter = self.bench.open(self.job, self.variable)
        return opened

    def _rule(self, item: int, expected: bool) -> str:
        """Return the rule that says whether a request is seen."""
        if not self.bench.offers("filters"):
            return "dupefilter.base.never"
        if not expected:
            return "dupefilter.seen.no-false-positive"
        return "dupefilter.persist.resume" if self.model.runs_since(item) else "dupefilter.seen.first"

    def _credit(self, item: int, allowed: set[bool]) -> None:
        if len(allowed) > 1:
            return
        expected = True in allowed
        self._examined[self._rule(item, expected)] += 1
        self._examined["dupefilter.persist.append"] += expected and self.model.runs_since(item) > 1
        self._examined["dupefilter.crash.no-false-positive"] += not expected and self._torn
        self._examined["dupefilter.crash.then-clean"] += expected and self._torn and self.model.runs_since(item) > 0


# --- Attribution -----------------------------------------------------------------------------------------------------


def _without_early_reopenings(play: Play) -> Program:
    """Leave out all reopenings but the last one of each filter."""
    kept: list[Operation] = []
    done: set[int] = set()
    for operation in reversed(play.played):
        if operation.name == "reopen":
            if operation.queue in done:
                continue
            done.add(operation.queue)
        kept.append(operation)
    return tuple(reversed(kept))


def _without_tearing(play: Play) -> Program:
    """Let the files alone that were cut."""
    return tuple(o._replace(name="reopen") if o.name == "tear" else o for o in play.played)


def _after_tearing(_player: Player, _play: Play, failure: RuleBroken) -> str:
    forgot = failure.rule in ("dupefilter.persist.resume", "dupefilter.seen.first")
    return "dupefilter.crash.then-clean" if forgot else "dupefilter.crash.no-false-positive"


def _after_several_runs(player: Player, play: Play, failure: RuleBroken) -> str | None:
    """It takes several runs: is everything remembered if each of the runs is the first one?"""
    if failure.rule != "dupefilter.persist.resume":
        return None
    end = Operation("reopen")
    runs = [play.played[:index] for index, operation in enumerate(play.played) if operation.name in ("reopen", "tear")]
    firsts = [tuple(operation for operation in run if operation.name not in ("reopen", "tear")) for run in runs]
    resumed = all(player.passes((*first, end), play.queues) for first in firsts)
    return "dupefilter.persist.append" if resumed else None


def _without_reopenings(play: Play) -> Program:
    return tuple(operation for operation in play.played if operation.name != "reopen")


def _after_reopening(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return "dupefilter.persist.resume" if failure.rule == "dupefilter.seen.first" else None


EXPERIMENTS = (
    Experiment(_without_tearing, _after_tearing),
    Experiment(_without_early_reopenings, _after_several_runs),
    Experiment(_without_reopenings, _after_reopening),
)

ITEMS = 8
"""Different requests that programs ask for."""


def size_of_record(bench: Bench) -> int:
    """Return how many bytes are appended for the last request that is seen; 0 if files are not only appended to.

    Only what is appended can be torn by a crash: files that are replaced, or written in place by a database, are not.
    """
    bench.restart()
    contents: list[dict[str, bytes]] = []
    try:
        for start, stop in ((0, 8), (8, 9)):
            dupefilter = bench.open()
            dupefilter.all_seen(bench.driver.requests(start, stop))
            dupefilter.close()
            contents.append(files_in(bench.driver.job()))
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
        return 0
    before, after = contents
    if before.keys() != after.keys() or not all(after[name].startswith(data) for name, data in before.items()):
        return 0
    return max((len(after[name]) - len(data) for name, data in before.items()), default=0)


def operations(bench: Bench) -> list[Operation]:
    """Return what programs are drawn from, simple operations first."""
    table = [Operation("seen", 0, item) for item in range(ITEMS)]
    table += [Operation("log", 0, item) for item in range(2)]
    table += [Operation("reopen")] * 3
    if bench.offers("persistent", "filesystem") and (size := size_of_record(bench)) > 1:
        table += [Operation("tear", 0, number) for number in sorted({1, size // 2, size - 1})]
    if not bench.offers("server"):  # there, the job directory separates nothing
        table += [Operation("seen", 1, item) for item in range(4)] + [Operation("reopen", 1)]
    return table


def player(bench: Bench) -> Player:
    """Return what plays programs of :class:`FilterPair`."""
    return Player(bench, FilterPair, EXPERIMENTS, operations(bench))


def run(bench: Bench, operations: Program) -> None:
    """Play one program on a bench.

    Raises:
        RuleBroken: for a difference, attributed to a rule.
    """
    Player(bench, FilterPair, EXPERIMENTS, ()).show(operations)

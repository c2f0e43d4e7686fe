"""The client of a campaign: gives tasks to dask.distributed until the time is over, and keeps their results."""

from __future__ import annotations

import itertools
import logging
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import dask.config
from distributed import Client, Future, LocalCluster, Nanny, Security

from queue_conformance.campaign import CampaignError
from queue_conformance.campaign.progress import Progress, whole
from queue_conformance.campaign.state import PAGE, REPORT, State, seen_again
from queue_conformance.campaign.task import Outcome, Part, Project, Task, environment, perform, read_project
from queue_conformance.config.values import UsageError
from queue_conformance.engine.sequences import Drawing
from queue_conformance.engine.verdicts import RunVerdict
from queue_conformance.frontends.printing import to_replay
from queue_conformance.frontends.scratch import Scratch
from queue_conformance.reports import Report
from queue_conformance.reports.terminal import for_stream, why

SECONDS = 20.0
"""How long a task that draws sequences is to take: long against what it costs to begin one."""

LEAST = 1.0
"""Seconds below which no such task is begun any more."""

LENGTHS = (50, 200, 1000)
"""Commands in a sequence at most, in turn: some failures need many, and short ones are found sooner by short sequences."""

AHEAD = 2
"""Tasks for each thread of a worker, so that it need not wait for the next one."""

ATTEMPTS = 3
"""Tasks of an implementation that fail one after the other before it is given up; also tries after a worker died."""

GRACE, GRACE_OF_FIRST = 5.0, 60.0
"""Seconds that tasks in progress get when the time is over; more if the first run of an implementation is among them."""

AWAY = 30
"""Seconds that a cluster gets to answer, and to come back."""

ENCRYPTED = ("tls://", "wss://")
"""How the addresses of clusters begin that know their clients by certificates."""

OPEN = (
    "WARNING --cluster={}: whoever reaches a scheduler without TLS runs code on its workers, and here: see docs/howto-campaign.md"
)

_CONFIGURATION = {
    "distributed.worker.profile.enabled": False,  # which takes time, and memory for each second of an hour
    "distributed.scheduler.http.routes": [],  # its servers for HTTP listen in any case, and ask nobody for a key
    "distributed.worker.http.routes": [],
}
"""What a cluster that is started here is, besides what the user has configured."""


@dataclass
class Campaign:
    """A campaign on a cluster.

    Args:
        seconds: how long it takes.
    """

    project: Project
    state: State
    client: Client
    seconds: float
    _again: deque[Task] = field(default_factory=deque)
    _failed: Counter[str] = field(default_factory=Counter)
    _doubtful: dict[tuple[str, int], tuple[Task, Outcome]] = field(default_factory=dict)
    _pending: dict[Future, Task] = field(default_factory=dict)
    _ended: SimpleQueue[Future] = field(default_factory=SimpleQueue)

    def __post_init__(self) -> None:
        self._expected = environment()
        self._gate = self.project.gate(update=False)
        self._names = [target.name for target in self.project.options.targets]
        self.progress = Progress(self.state, self.seconds, self._names)
        self._tasks = self._all_tasks()
        self._threads, self._counted = 1, -1.0
        self._end = 0.0

    def run(self) -> None:
        """Run tasks until the time is over, or a signal asks to end.

        Raises:
            CampaignError: if it cannot go on; what is known is kept.
        """
        self._end = time.monotonic() + self.seconds
        try:
            while (now := time.monotonic()) < self._end or (self._pending and now < self._end + self._grace()):
                if self.client.status == "closed":
                    raise CampaignError("the cluster is away, and does not come back")
                if self.client.status == "running" and now < self._end:
                    self._submit()
                if self._given_up() and not self._pending:
                    break
                self.progress.show()
                try:
                    self._take(self._ended.get(timeout=0.5))
                except Empty:
                    continue
            for task, outcome in self._doubtful.values():  # nothing has said that they are wrong
                self._keep(task, outcome)
            for name in self._names:
                if 0 not in self.state.seeds[name] and self._failed[name] < ATTEMPTS:
                    self.progress.fail(f"{name}: its first run did not end in this time, so most of its rules were not tested")
        except OSError as error:
            raise CampaignError(f"{self.state.directory}: {error.strerror or error}") from error
        finally:
            if self.client.status == "running":
                self.client.cancel(list(self._pending))

    def _grace(self) -> float:
        return GRACE_OF_FIRST if any(task.part is Part.ALL or task.again for task in self._pending.values()) else GRACE

    def _given_up(self) -> bool:
        return all(self._failed[name] >= ATTEMPTS for name in self._names)

    def _all_tasks(self) -> Iterator[Task | None]:
        """Yield a whole run of each implementation; then, with each seed, sequences alone, and all that is not sequences.

        What would not end in time is left out; ``None`` is yielded as long as nothing would.
        """
        for seed in itertools.count():
            for name in self._names:
                if seed in self.state.seeds[name] or self._failed[name] >= ATTEMPTS:
                    continue
                if seed == 0:
                    yield Task(name, seed, Part.ALL)
                elif seed % 2:
                    while (left := self._left()) < LEAST:
                        yield None
                    yield Task(name, seed, Part.SEQUENCES, Drawing(LENGTHS[seed // 2 % len(LENGTHS)], min(SECONDS, left)))
                elif self._left() > self.state.took.get(name, SECONDS):
                    yield Task(name, seed, Part.OTHERS)
            if self._given_up():
                return

    def _left(self) -> float:
        """Return the seconds that a task would have, after those that have been given to the cluster."""
        given = (task.drawing.seconds or self.state.took.get(task.implementation, SECONDS) for task in self._pending.values())
        return self._end - time.monotonic() - sum(given) / self._threads

    def _submit(self) -> None:
        """Give the cluster enough to do."""
        if time.monotonic() - self._counted > 1:  # a thousand workers take some time to list
            try:
                self._threads = max(1, sum(self.client.nthreads().values()))
            except OSError:  # the cluster has just gone away
                return
            self._counted = time.monotonic()
        while len(self._pending) < AHEAD * self._threads:
            task = self._again.popleft() if self._again else next(self._tasks, None)
            if task is None:
                return
            urgent = bool(task.again)  # until it has ended, nothing is known of what it repeats
            future = self.client.submit(perform, task, self._expected, pure=False, retries=ATTEMPTS, priority=urgent)
            self._pending[future] = task
            future.add_done_callback(self._ended.put)

    def _take(self, future: Future) -> None:
        task = self._pending.pop(future)
        try:
            error = future.exception()
            outcome: Outcome | None = None if error else future.result()
        except (CancelledError, OSError):  # the cluster went away
            self._again.append(task)
            return
        if outcome is None:
            self._fail(task, f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
            return
        if outcome.environment != self._expected:
            raise CampaignError(_difference(outcome.worker, outcome.environment, self._expected))
        if outcome.error:
            self._fail(task, f"{outcome.error} (worker {outcome.worker})")
            return
        self._failed[task.implementation] = 0
        if task.again:
            task, outcome = self._settled(task, outcome)
        elif checks := self.state.doubtful(task, outcome):
            self._doubtful[task.implementation, task.seed] = task, outcome
            self._again.append(replace(task, again=checks))
            return
        self._keep(task, outcome)

    def _settled(self, task: Task, outcome: Outcome) -> tuple[Task, Outcome]:
        """Return a task that saw something new, and its outcome without what did not come again."""
        first, seen = self._doubtful.pop((task.implementation, task.seed))
        return first, seen_again(seen, task.again, outcome)

    def _keep(self, task: Task, outcome: Outcome) -> None:
        new = self.state.add(task, outcome)
        self.progress.found(new, lambda finding: bool(self._gate.why_known(task.implementation, finding.violation)))
        if new and self.state.report:
            try:
                self.project.cache.remember(self.state.report, {})
            except UsageError as error:  # the server was there at the beginning; the next finding brings all of them
                self.progress.fail(str(error))
            self.project.cache.keep(self.report())

    def _fail(self, task: Task, line: str) -> None:
        self._failed[task.implementation] += 1
        self.progress.fail(f"{task.implementation}: {line}")

    def report(self) -> Report:
        """Return what is known of all implementations, and what the baseline says of it."""
        found = self.state.report or Report(())
        return self._gate.attributed(replace(found, errors=tuple(self.progress.errors)), _partly(found))


def _partly(report: Report) -> dict[str, bool]:
    """Return that checks of all implementations were run, and not all of them with each seed: nothing is fixed."""
    return {one.name: False for one in report.implementations}


def _difference(worker: str, there: Mapping[str, str], here: Mapping[str, str]) -> str:
    names = [name for name in {**here, **there} if there.get(name) != here.get(name)]
    both = (f"{name} {there.get(name, 'missing')} there and {here.get(name, 'missing')} here" for name in names)
    return f"the worker {worker} differs: {', '.join(both)}"


# --- The command -----------------------------------------------------------------------------------------------------


def run(
    *, seconds: float, directory: Path, names: tuple[str, ...], workers: int | None, cluster: str | None, update_baseline: bool
) -> int:
    """Run a campaign.

    Args:
        seconds: how long it takes.
        directory: where what is known is kept.
        names: the implementations of pyproject.toml to test, or none for all.
        workers: processes of the cluster that is started here; one for each processor, if it is ``None``.
        cluster: the address of a scheduler that runs, or ``None``.
        update_baseline: whether findings are added to the baseline.

    Returns:
        The exit status: 0 if nothing failed that fails the run, 1 if something did, 2 if something could not be tested.

    Raises:
        UsageError: if the project makes no sense.
        CampaignError: if it cannot go on.
        BaselineError: if the baseline cannot be read or written.
        KeyboardInterrupt: if a signal asked it to end; what is known is kept and told before.
    """
    project = read_project(names)
    project.cache.sequences(project.options.targets[0].name)  # which fails if they are kept on a server that is not there
    if update_baseline:
        if project.options.baseline is None:
            raise CampaignError("--update-baseline: name the file to write, by conformance-baseline in pyproject.toml")
        project.gate(update=True).update({}, Report(()))  # which writes it, if it is not there
    with ExitStack() as stack:
        state = State(directory)
        stack.callback(state.close)
        tested = ", ".join(target.name for target in project.options.targets)
        begins = "" if cluster else ", once its workers have started"  # which takes a minute on a busy machine
        print(for_stream(f"campaign: {whole(seconds)} on {tested}{begins}; see {directory / PAGE}", sys.stdout), flush=True)
        campaign = Campaign(project, state, stack.enter_context(_client(workers, cluster)), seconds)
        if cluster and not cluster.startswith(ENCRYPTED):
            campaign.progress.say(OPEN.format(cluster))
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        stack.callback(signal.signal, signal.SIGTERM, before)
        try:
            campaign.run()
        except KeyboardInterrupt:
            campaign.progress.say("interrupted; the same command goes on from here")
            raise
        finally:
            with suppress(OSError):  # which has been said
                campaign.progress.show(last=True)
            if update_baseline:
                _update(project, state, campaign.progress.say)
            report = campaign.report()
            for first in campaign.progress.ordered(state.findings.values())[:1]:
                kept = project.cache.keep(report) or directory / REPORT
                command = to_replay(report, first.implementation, first.violation.rule, kept)
                campaign.progress.say(f"{command} runs the script of the finding to mend first")
        for one in report.implementations:
            if one.verdict is RunVerdict.INCONCLUSIVE:
                campaign.progress.say(f"{one.verdict} {one.name}: {why(one)}")
        untested = report.errors or report.inconclusive or not report.implementations
        return 1 if report.failed else 2 if untested else 0


@contextmanager
def _client(workers: int | None, address: str | None) -> Iterator[Client]:
    """Yield what reaches the cluster: one that runs, or one of this machine's processes."""
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address:
        try:
            client = Client(address, timeout=AWAY)
        except (OSError, ValueError, TypeError, RuntimeError) as error:  # the last two, if there is no key, or no encryption
            raise CampaignError(f"--cluster={address}: {error}") from error
        with client:
            yield client
        return
    with _cluster(workers) as cluster, Client(cluster) as client:
        yield client


_HTTP = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Without a dashboard, a server for HTTP listens too; of workers of some releases, on every address of the machine."""


_UNINTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
"""
"""What each worker runs first: a terminal interrupts all, and the campaign ends its workers; they would print where they were."""


class _Worker(Nanny):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        first = [*dask.config.get("distributed.worker.preload"), _UNINTERRUPTED]
        super().__init__(*arguments, **{**options, **_HTTP, "preload": first})


@contextmanager
def _cluster(workers: int | None) -> Iterator[LocalCluster]:
    """Yield a cluster of processes of this machine, which no other user can use: what reaches it by TCP, it runs.

    Args:
        workers: how many; one for each processor, if it is ``None``.
    """
    how = {"n_workers": workers, "threads_per_worker": 1, "worker_class": _Worker, "scheduler_kwargs": _HTTP}
    scratch = Scratch()
    try:
        security, place = Security.temporary(), str(scratch.path)
        with (
            # The scheduler, too, imports from there; elsewhere, another user may make that directory before it.
            dask.config.set({**_CONFIGURATION, "temporary-directory": place}),
            LocalCluster(security=security, silence_logs=logging.CRITICAL, **how) as cluster,
        ):
            yield cluster
    finally:
        scratch.remove()


def _update(project: Project, state: State, say: Callable[[str], None]) -> None:
    """Add what was found to the baseline, with the seeds that show it, and say so."""
    if state.report:
        for line in project.gate(update=True).update(_partly(state.report), *state.by_seed(state.report)):
            say(f"baseline: {line}")

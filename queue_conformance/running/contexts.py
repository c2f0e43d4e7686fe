"""Where a check runs: in a process and a directory of its own, with the server that an implementation stores in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from queue_conformance.engine.closing import WithoutClose
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.kept_store import KeptStore
from queue_conformance.engine.sequences import USUAL, Drawing, Known
from queue_conformance.engine.shown import NOTHING_SHOWN, Shown
from queue_conformance.faults.backend import Backend
from queue_conformance.faults.servers import Server
from queue_conformance.guard import Guard
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes import isolation, messages, process
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.isolation import Answer, Watchdog
from queue_conformance.processes.stopwatch import WITHOUT_END, RunTime
from queue_conformance.processes.trees import temporary_directory, temporary_files_below
from queue_conformance.running.faults import AtFault, blaming, remember_modules

T = TypeVar("T")


@dataclass(frozen=True)
class RunConfig:
    """How checks are run.

    Attributes:
        directory: where scratch directories are made.
        seed: seeds everything that is drawn.
        examples: sequences or requests to draw in a check that draws.
        drawing: how long sequences are, and for how long they are generated.
        crawls: graphs of pages to crawl for one rule.
        time_limit: seconds that one operation may take.
        in_process: run in the calling process, without protection.
        shared: run where other checks run too.
        known: sequences that failed before, which the machines run again.
        server: the server behind the queues, as ``--queue-server`` names it, or ``""``.
        factory: the author's function that builds a queue, or ``None``.
        prepare: the author's function that gives spiders what the class looks for in them, or ``None``.
        may_decline: whether that function may leave a class to the kit, as a hook may.
        watch: called from time to time with what a running check says of itself, or ``None``.
        lasting: the servers that last for the run, by what ``--queue-server`` says.
        guard: guards what the class must not touch, or ``None``.
        of_project: whether a project names the class, whose settings and claims are also for others.
        without: operations that no check calls, as they hung or died in others.
        shown: what the crawls of earlier checks have shown.
        run_time: how long the run may take.
        jobs: checks that run at once.
        idle_jobs: the same, where they wait most of the time.
        kept: what earlier versions of the class have stored.
        confirmed: what failed alone when it was run as a script: that, its cause, and what happened.
    """

    directory: Path
    seed: int = 0
    examples: int = 100
    drawing: Drawing = USUAL
    crawls: int = 3
    time_limit: float = 10.0
    in_process: bool = False
    shared: bool = False
    known: Known = field(default_factory=dict)
    server: str = ""
    factory: Callable[..., Any] | None = None
    prepare: Callable[[Any], object] | None = None
    may_decline: bool = True
    watch: Callable[[Watchdog], None] | None = None
    lasting: Mapping[str, Server] = field(default_factory=dict)
    guard: Guard | None = None
    of_project: bool = False
    without: frozenset[str] = frozenset()
    shown: Shown = NOTHING_SHOWN
    run_time: RunTime = WITHOUT_END
    jobs: int = 1
    idle_jobs: int = 1
    kept: tuple[KeptStore, ...] = ()
    confirmed: set[tuple[str, str, str]] = field(default_factory=set, compare=False)


def in_context(implementation: Implementation, config: RunConfig, function: Callable[[CheckContext], T]) -> Answer[T] | Abort:
    """Call a function with a context, in a process and a directory of its own.

    Args:
        implementation: what the context is for.
        config: how it is run.
        function: what to call; its result must be picklable.
    """
    with temporary_directory(config.directory) as directory:

        def alone(watchdog: Watchdog) -> T:
            # What Hypothesis wants to keep for later runs goes with the rest, and not into the author's directory.
            os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(directory))
            factory = config.factory if implementation.hooked else None
            opened = replace(implementation, factory=factory, prepare=config.prepare)
            sys.path[:] = map(os.path.abspath, sys.path)  # "" means where this process was started
            # Where the directory is in memory, what a class writes elsewhere first could not be moved into its store.
            with (
                chdir(directory),
                temporary_files_below(directory),
                served(opened, directory, config.lasting) as (reached, backend),
            ):
                context = CheckContext(
                    reached,
                    directory,
                    watchdog,
                    config.seed,
                    config.examples,
                    backend=backend,
                    isolated=process.AVAILABLE and not config.in_process,
                    shared=config.shared,
                    crawls=config.crawls,
                    drawing=config.drawing,
                    time_limit=config.time_limit,
                    moves=True,
                    shown=config.shown,
                    run_time=config.run_time,
                )
                hung = {name: f"{name}, which hung or died in other checks" for name in config.without}
                absent = {name: f"{context.driver.interface_rule}, as it has no {name}" for name in context.driver.absent}
                context.recorder.without = hung | absent
                if context.driver.without_close:
                    context.recorder.unclosed = WithoutClose(context.driver.interface_rule, context.driver.closing)
                return function(context)

        return run_blaming(implementation.path, alone, config)


def run_blaming(path: str, function: Callable[[Watchdog], T], config: RunConfig) -> Answer[T] | Abort:
    """Run a function in a process of its own.

    Args:
        path: the dotted path of the class.
        function: what to run.
        config: how it is run.

    Raises:
        LoadError: if the class did something so that it could not go on; the message is one line.
        IsolatedError: if the function raised otherwise.
    """

    def attributed(watchdog: Watchdog) -> tuple[str, T | None]:
        try:
            with blaming(path):
                answer = function(watchdog)
                if not config.in_process:
                    messages.expect_picklable(answer)  # here, where a class that makes this fail is blamed
                return "", answer
        except AtFault as fault:
            return str(fault), None  # plain text can be pickled whatever the class has done

    remember_modules()
    how = {"time_limit": config.time_limit, "in_process": config.in_process, "watch": config.watch, "guard": config.guard}
    ended = isolation.run(attributed, run_time=config.run_time, **how)  # type: ignore[arg-type]
    if isinstance(ended, Abort):
        return ended
    fault, answer = ended.value
    if fault:
        raise LoadError(f"{path} cannot be tested: it {fault}")
    return Answer(answer, ended.left, ended.before)  # type: ignore[arg-type]


def twice(attempt: Callable[[], Answer[T] | Abort], before: Abort | None = None) -> Answer[T] | Abort:
    """Try once more what took too long: on a machine that does something else, or waits for its disk, that proves nothing.

    Where nothing goes on between operations, minutes of it do. What ended its parent is tried once more, too, to see which
    operation does.

    Args:
        attempt: runs a function in a process of its own, such as :func:`in_context` does.
        before: how it took too long already, if it did.
    """
    first = before or attempt()
    if isinstance(first, Answer):
        return first
    if first.of_parent:
        with isolation.waiting_for_the_parent():
            second = attempt()
        return first if isinstance(second, Answer) else second
    if not first.hung or first.between:
        return first
    second = attempt()
    return replace(second, before=first) if isinstance(second, Answer) else second


@contextmanager
def served(
    implementation: Implementation, directory: Path, lasting: Mapping[str, Server] = MappingProxyType({})
) -> Iterator[tuple[Implementation, Backend | None]]:
    """Give an implementation the server that it stores in, if it needs one.

    Args:
        implementation: what to serve.
        directory: where a server of the kit's own may store.
        lasting: servers that last for the run, by what ``--queue-server`` says.

    Yields:
        The implementation with the address of the server filled in, and the server.
    """
    if not implementation.server:
        yield implementation, None
        return
    with Backend(implementation.server, directory / "server", lasting.get(implementation.server)) as backend:
        places = {"{host}": backend.host, "{port}": str(backend.port)}
        if any("{password}" in value for value in map(str, implementation.settings.values())):
            places["{password}"] = backend.password
        yield replace(implementation, places=places), backend
        backend.look()

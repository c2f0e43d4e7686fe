"""The entrance for programs: ``examine(MyQueue)`` returns a report."""

from __future__ import annotations

import fnmatch
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from queue_conformance.baseline import BaselineError
from queue_conformance.baseline.gate import Gate
from queue_conformance.config.options import BY_NAME
from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Common, Target, allowed, describe, expect_writers, kept_in
from queue_conformance.config.values import UsageError, converted, expect_place, switch
from queue_conformance.engine.registry import Check
from queue_conformance.frontends.hosted import Hosted
from queue_conformance.frontends.implementation_run import ImplementationRun, all_checks_of
from queue_conformance.frontends.progress import CalledProgress
from queue_conformance.frontends.runs import Run
from queue_conformance.implementation.loading import path_of
from queue_conformance.processes.output import swallowed
from queue_conformance.reports import Report
from queue_conformance.specification.suggestion import did_you_mean


def examine(
    *classes: type[Any] | str,
    settings: Mapping[str, Any] | Iterable[str] = (),
    claims: Mapping[str, Any] | Iterable[str] = (),
    server: str = "",
    allow: Iterable[str] = (),
    kept: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    open_queue: Callable[..., Any] | None = None,
    prepare_spider: Callable[[Any], object] | None = None,
    kind: str = "",
    profile: str = "",
    level: str = "MUST",
    rules: str | Iterable[str] = (),
    name: str = "",
    baseline: str | os.PathLike[str] | None = None,
    seed: int = 0,
    examples: int = 100,
    crawls: int = 3,
    jobs: int | None = None,
    time: str | None = None,
    time_limit: float = 10.0,
    in_process: bool = False,
    progress: Callable[[str, str, int, int], object] | None = None,
) -> Report:
    """Test classes, as ``pytest --queue-class=...`` does: the same rules, verdicts and report.

    Checks run in other processes, so this one is safe from what the classes do, and leaves nothing behind; what they print and
    log there is not shown. Nothing is read from pyproject.toml.

    Args:
        classes: what to test, in this order: classes, or their dotted paths.
        settings: crawler settings, or arguments of the constructor where there is no crawler; by name, or as ``NAME=VALUE``.
        claims: what the classes promise, as for ``--conformance-claim``: ``["order=FIFO", "persistent"]``, or by name.
        server: the server behind them, as for ``--queue-server``: the name of one that the kit starts, or ``HOST:PORT``.
        allow: what they may connect to or change besides, as for ``--conformance-allow``: ``["localhost:6379"]``.
        kept: directories of ``queue-conformance keep``, as for ``--conformance-kept``: what earlier versions have stored.
        open_queue: builds one, where the constructor is not the one that Scrapy calls: a function of ``crawler`` and ``key``,
            or of those that it needs; see the hook ``pytest_open_queue``.
        prepare_spider: a function of ``spider`` that gives it what the classes look for in it; see the hook
            ``pytest_prepare_spider``.
        kind: what the classes are, such as ``downstream-queue``, if that cannot be told from them.
        profile: the contract that they are held to, if not the usual one of their kind.
        level: the level whose failed rules make the report a failure: ``MUST`` or ``SHOULD``.
        rules: run only the checks of these rules: ids, what they begin with (``queue.pop``), patterns such as
            ``queue.*.crash``, or names of checks. The report says of the others that they were not covered.
        name: what the report calls the class, which must be the only one then, instead of its dotted path.
        baseline: the file of the rules that are known to fail, as for ``--conformance-baseline``.
        seed: seeds everything that is drawn.
        examples: command sequences and requests to draw.
        crawls: graphs of pages to crawl for one rule.
        jobs: checks of a class that run at once; without it, one for each processor, 8 at most, 16 where the class waits.
        time: how long the run may take, such as ``5m``; the report says of what it did not come to that it was not covered.
        time_limit: seconds that one operation may take.
        in_process: run here, unprotected against hangs and exits, for debuggers.
        progress: called before each check with the name of the class, the name of the check, how many checks are done, and of
            how many. Without it, standard error shows the same in a line, if it is a terminal.

    Returns:
        The report: ``report.failed``, ``str(report)``, ``report.write("report.jsonl")``.

    Raises:
        UsageError: if an argument makes no sense; the message is one line that says what to write.
        LoadError: if a class cannot be tested; the message is one line.
    """
    numbers = {"seed": seed, "examples": examples, "crawls": crawls, "jobs": jobs, "time": time, "time_limit": time_limit}
    said = {"settings": settings, "claims": claims, "server": server, "level": level, "kind": kind, "profile": profile}
    common = Common(kept=kept_in([kept] if isinstance(kept, (str, os.PathLike)) else [*kept], "kept"))
    targets = [(_target(cls, name, said, common), cls if isinstance(cls, type) else None) for cls in classes]
    expect_writers(common.kept, [target for target, _ in targets], "kept")
    _expect_names([target.name for target, _ in targets])
    _expect_function("open_queue", open_queue, "that builds a queue")
    _expect_function("prepare_spider", prepare_spider, "of spider")
    _expect_function("progress", progress, "of two names and two numbers")
    place = None if baseline is None else converted(BY_NAME["conformance-baseline"], os.fspath(baseline), "baseline")
    if place is not None:
        expect_place("baseline", place, Path(place), written=False)
    options = Options(
        targets=tuple(target for target, _ in targets),
        in_process=switch(in_process, "in_process"),
        baseline=None if place is None else Path(place),
        allow=allowed(allow),
        **{name: converted(BY_NAME[f"conformance-{name.replace('_', '-')}"], value, name) for name, value in numbers.items()},
    )
    patterns = [rules] if isinstance(rules, str) else list(rules)
    try:
        gate = Gate(options, Path.cwd())
    except BaselineError as error:
        raise UsageError(f"baseline: {error}") from error
    how: dict[str, Any] = {"factory": open_queue, "prepare": prepare_spider, "may_decline": False}
    with swallowed(), closing(Run(options)) as run, closing(CalledProgress(sys.stderr)) as shown:
        if progress is None and sys.stderr is not None and sys.stderr.isatty():
            progress, run.watch = shown, shown.watch
        for target, cls in targets:
            shown.begin(target.name)
            known = gate.sequences(target.name)
            told = {"progress": progress} if progress else {}
            run.examine(target, lambda found: _chosen(patterns, found), cls=cls, known=known, **told, **how)
        run.clean()
        return gate.attributed(run.report(), run.coverage)


def _expect_names(names: Sequence[str]) -> None:
    if not names:
        raise UsageError("name a class to test: examine(MyQueue)")
    if len(set(names)) < len(names):
        raise UsageError(f"each class must have a name of its own, not {', '.join(names)}: test them one by one")


def _expect_function(argument: str, given: object, what: str) -> None:
    if given is not None and not callable(given):
        raise UsageError(f"{argument}: write a function {what}, not {given!r}")


def _target(cls: object, name: object, said: Mapping[str, Any], common: Common) -> Target:
    if not isinstance(cls, type | str):
        raise UsageError(f"name classes, or their dotted paths, not {cls!r}")
    if not isinstance(name, str):
        raise UsageError(f"name: write text, not {name!r}")
    path = path_of(cls)
    return describe(name or path, "", path, said, common)


def _chosen(patterns: Sequence[str], implementation_run: ImplementationRun | Hosted) -> Sequence[Check]:
    """Return the checks of a run that some patterns select, or all if there are none."""
    kind, asked = implementation_run.discovery.kind, implementation_run.discovery.rules()
    known = {*asked, *(name for check in all_checks_of(kind) for name in (check.name, *check.rules))}
    for pattern in map(str, patterns):
        if not _named(known, pattern):
            raise UsageError(f"rules: {kind.one} has none that is called {pattern!r}{did_you_mean(pattern, known)}")
    if not patterns:
        return implementation_run.checks
    return [c for c in implementation_run.checks if any(_named((c.name, *c.rules), pattern) for pattern in patterns)]


def _named(names: Iterable[str], pattern: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) or name.startswith(f"{pattern}.") for name in names)

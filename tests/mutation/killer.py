"""The kit as the killer of mutants: what it says of a module as it is, and whether it says something else of a mutant.

All runs in processes that are forked from a warm one, which has imported everything but the module and what depends on it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import re
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from subjects import Subject

from queue_conformance.discovery.record import Discovery
from queue_conformance.discovery.stages import discover
from queue_conformance.engine.outcomes import CheckResult
from queue_conformance.engine.registry import Check
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes import endings, isolation
from queue_conformance.processes.process import fork
from queue_conformance.running.contexts import RunConfig
from queue_conformance.specification.applicability import installed_releases

Failures = frozenset[tuple[str, str]]
"""Rules that failed, each with its evidence."""

CHEAP = 0.3
"""CPU seconds that a check may take at most to share a process with others."""

LEFT_OPEN = 20
"""Files that a check may leave open at most to share a process with others."""

HANGS_CPU, HANGS_WALL = 6.0, 45.0
"""Seconds after which a check of a mutant hangs, beyond what it takes on the module as it is: busy, and waiting."""

LAST = ("jobs", "crash", "kills", "disk", "sharing", "shared")
"""Modules of checks that kill nothing which the others spare, or hardly anything, and cost most."""


WARM = ("hypothesis", "pytest", "qcrawl", "queue_conformance", "queue_reference", "queuelib", "redis", "scrapy", "twisted")
"""Packages that are imported once, and not again in the process of each mutant."""


ONCE = ("hypothesis", "pytest", "redis", "twisted", "zope")
"""Packages that do not depend on what is mutated, and may not be imported twice."""


@dataclass(frozen=True)
class Known:
    """What is known of a check of a class, from the module as it is.

    Attributes:
        check: its name.
        failures: what it finds.
        functions: the first lines of the functions of the module that it calls.
        seconds: CPU seconds that it takes.
        shares: whether it can share a process with others.
        last: whether it is tried last.
    """

    check: str
    failures: Failures
    functions: frozenset[int]
    seconds: float
    shares: bool
    last: bool


@dataclass(frozen=True)
class Base:
    """What is known of a class, from the module as it is."""

    discovery: Discovery
    checks: tuple[Known, ...]


@dataclass(frozen=True)
class Fate:
    """What became of a mutant.

    Attributes:
        by: what killed it, or ``""``.
        how: the evidence.
        seconds: CPU seconds that it took.
    """

    by: str
    how: str = ""
    seconds: float = 0.0


@dataclass
class Killer:
    """Kills mutants of a module.

    Args:
        subject: the module.
        root: the directory with the copy of its package that is imported; others are made beside it.
        thorough: also run the checks that are tried last.
    """

    subject: Subject
    root: Path
    thorough: bool = True
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    bases: dict[str, Base] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.file = self.root.joinpath(*self.subject.module.split(".")).with_suffix(".py")
        self.source = self.file.read_text("utf-8")
        self.releases = installed_releases()

    # --- The module as it is -----------------------------------------------------------------------------------------

    def learn(self) -> None:
        """Test the module as it is, and get warm."""
        loaded: dict[str, None] = {}
        for name, settings in self.subject.classes.items():
            base, modules = _forked(lambda name=name, settings=settings: self._learn(name, settings))
            self.bases[name] = base
            loaded |= dict.fromkeys(modules)
        _get_warm(reversed(loaded), self.subject.module)
        gc.collect()
        gc.freeze()

    def _config(self, directory: Path, *, alone: bool) -> RunConfig:
        return RunConfig(directory, in_process=not alone, server=self.subject.server)

    def _learn(self, name: str, settings: Any) -> tuple[Base, list[str]]:
        with _scratch(self.root.parent) as directory:
            alone = self._config(directory, alone=True)
            path = f"{self.subject.module}.{name}"
            found = discover(path, settings, self.subject.claims, alone)
            implementation_run = ImplementationRun(found, alone, self.releases)
            known = []
            for check in implementation_run.checks:
                start = _cpu()
                failures = _failures(implementation_run.run(check))
                seconds = _cpu() - start
                last = check.is_machine or any(part in check.module.split(".") for part in LAST)
                if last and not self.thorough:
                    continue
                again: Failures = frozenset()
                traced: tuple[Failures, frozenset[int]] | None = None
                if seconds < CHEAP and not last:
                    again = _failures(ImplementationRun(found, alone, self.releases).run(check))
                    traced = self._traced(found, directory, check)
                shares = traced is not None and {rule for rule, _ in traced[0]} == {rule for rule, _ in failures}
                if traced is not None:
                    again |= traced[0]
                functions = traced[1] if traced is not None else frozenset()
                known.append(Known(check.name, failures | again, functions, seconds, shares, last))
            return Base(found, tuple(known)), list(sys.modules)

    def _traced(self, found: Discovery, directory: Path, check: Check) -> tuple[Failures, frozenset[int]] | None:
        """Return what a check finds that shares a process, and the functions of the module that it calls."""

        def run() -> tuple[Failures, frozenset[int]]:
            called: set[int] = set()

            def note(frame: FrameType, event: str, _argument: object) -> None:
                if event == "call" and frame.f_code.co_filename == str(self.file):
                    called.add(frame.f_code.co_firstlineno)

            open_before = len(os.listdir("/proc/self/fd"))
            sys.setprofile(note)
            try:
                implementation_run = ImplementationRun(found, self._config(directory, alone=False), self.releases)
                failures = _failures(implementation_run.run(check))
            finally:
                sys.setprofile(None)
            if len(os.listdir("/proc/self/fd")) > open_before + LEFT_OPEN:
                raise OSError("it leaves so many files open that others would suffer")
            return failures, frozenset(called)

        try:
            return _forked(run)
        except (ChildProcessError, isolation.IsolatedError):
            return None

    # --- Mutants -----------------------------------------------------------------------------------------------------

    def kill(self, source: str, function: int) -> Fate:
        """Test a mutant until something fails that did not.

        Args:
            source: the text of the module.
            function: the first line of the function that is changed, or 0.
        """
        self.file.write_text(source, "utf-8")
        try:
            return self._watched(lambda say: self._examined(function, say))
        finally:
            self.file.write_text(self.source, "utf-8")

    def _plan(self, function: int) -> list[tuple[str, Known]]:
        """Return the checks that a mutant has to pass, what kills most for its price first."""
        pairs = [(name, known) for name, base in self.bases.items() for known in base.checks]
        called = [pair for pair in pairs if function in pair[1].functions]
        if called:
            names = {name for name, _ in called}
            pairs = called + [pair for pair in pairs if not pair[1].shares and pair[0] in names]

        def price(pair: tuple[str, Known]) -> tuple[bool, bool, float]:
            name, known = pair
            kills = sum(number for (_, check), number in self.kills.items() if check == known.check)
            return known.last, not known.shares, (known.seconds + 0.01) / (self.kills[name, known.check] + kills / 2 + 0.2)

        return sorted(pairs, key=price)

    def _examined(self, function: int, say: Callable[[str], None]) -> tuple[str, str, str]:
        """Return the class and the check that kill this module, and how; empty texts if nothing does."""
        plan = self._plan(function)
        with _scratch(self.root.parent) as directory, contextlib.chdir(directory):  # a mutant may store where it is
            shared = self._config(directory, alone=False)
            alone = self._config(directory, alone=True)
            classes = dict.fromkeys(name for name, _ in plan)
            say("importing 0")
            try:
                together = {name: ImplementationRun(self.bases[name].discovery, shared, self.releases) for name in classes}
                apart = {name: ImplementationRun(self.bases[name].discovery, alone, self.releases) for name in classes}
            except Exception as error:  # the kit may be the first to import what needs the module
                return next(iter(classes)), "import", str(error)
            assert sys.modules[self.subject.module].__file__ == str(self.file), "the copy is not what is imported"
            discovered = False
            for name, known in plan:
                if not known.shares and not discovered:
                    discovered = True
                    for other in classes:
                        say("discovery 1")
                        if how := self._discovered(other, shared):
                            return other, "discovery", how
                if known.check in {result.check for result in self.bases[name].discovery.smoke}:
                    continue  # the discovery of the mutant tests them
                check = next(check for check in together[name].checks if check.name == known.check)
                say(f"{known.check} {known.seconds}")
                try:
                    if known.shares and not _new(together[name].run(check), known, check):
                        continue
                    # What shares a process may suffer from what others left there: it counts only if it happens alone too.
                    how = _new(apart[name].run(check), known, check)
                except Exception:  # an internal error, which fails no rule
                    continue
                if how:
                    return name, known.check, how
        return "", "", ""

    def _discovered(self, name: str, config: RunConfig) -> str:
        """Return what the kit finds out about the class that it did not find out about the module as it is."""
        base = self.bases[name].discovery
        try:
            found = discover(base.path, self.subject.classes[name], self.subject.claims, config)
        except LoadError as error:
            return str(error)
        known = {result.check: _failures(result) for result in base.smoke}
        for result in found.smoke:
            if new := {rule for rule, _ in _failures(result)} - {rule for rule, _ in known.get(result.check, ())}:
                return f"breaks {', '.join(sorted(new))}"
        lost = base.found.names - found.found.names
        gained = found.found.names - base.found.names
        if lost:
            return f"loses {', '.join(sorted(lost))}" + (f", gains {', '.join(sorted(gained))}" if gained else "")
        return ""

    def _watched(self, function: Callable[[Callable[[str], None]], tuple[str, str, str]]) -> Fate:
        """Call a function in a process of its own, and end that when one check takes too long."""
        reader, writer = os.pipe()
        pid = fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.close(reader)
            _silence()

            def say(line: str) -> None:
                os.write(writer, f"{line}\n".encode())

            code = 1
            try:
                say(f"= {pickle.dumps(function(say)).hex()}")
                code = 0
            except BaseException as error:
                say(f"= {pickle.dumps(('', 'kit', f'{type(error).__name__}: {error}')).hex()}")
            finally:
                os._exit(code)
        os.close(writer)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        doing, found = _followed(pid, reader)
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        seconds = usage.ru_utime + usage.ru_stime
        if found is None:
            return Fate(doing, "hangs" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == 9 else "dies", seconds)
        name, check, how = found
        if check == "kit":  # an internal error, which fails no rule
            return Fate("", f"the kit failed: {how}", seconds)
        if check:
            self.kills[name, check] += 1
        return Fate(f"{name}: {check}" if check else "", how, seconds)


def _followed(pid: int, reader: int) -> tuple[str, tuple[str, str, str] | None]:
    """Return what a process did last, and what it sent, or ``None`` if it takes too long or dies."""
    data, doing, limit = b"", "importing", 0.0
    since, spent = time.monotonic(), _spent(pid)
    while True:
        if select.select([reader], [], [], 0.2)[0]:
            chunk = os.read(reader, 1 << 16)
            if not chunk:
                return doing, None
            data += chunk
            *lines, data = data.split(b"\n")
            for line in lines:
                word, _, rest = line.decode().partition(" ")
                if word == "=":
                    return doing, pickle.loads(bytes.fromhex(rest))
                doing, limit = word, float(rest)
                since, spent = time.monotonic(), _spent(pid)
        if _spent(pid) - spent > HANGS_CPU + 5 * limit or time.monotonic() - since > HANGS_WALL + 20 * limit:
            return doing, None


def _spent(pid: int) -> float:
    """Return the CPU seconds of a process, without those of its children that still run."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _cpu() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@contextlib.contextmanager
def _scratch(root: Path) -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(dir=root))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)


def _forked(function: Callable[[], Any]) -> Any:
    """Call a function in a process of its own; raise ``ChildProcessError`` if that ends without an answer."""

    def quiet(_watchdog: isolation.Watchdog) -> Any:
        _silence()
        return function()

    ended = isolation.run(quiet, time_limit=600.0)
    if isinstance(ended, endings.Abort):
        raise ChildProcessError(ended.how)
    return ended.value


_VARYING = re.compile(r"0x[0-9a-f]+|/[\w./-]*/|\d+(\.\d+)?|b'[^']*'")


def _failures(result: CheckResult) -> Failures:
    """Return the rules that a check found failing, with what of the evidence is the same each time."""
    found = []
    for observation in result.failed:
        violation = observation.violation
        evidence = f"{violation.expected} / {violation.actual}" if violation else ""
        found.append((observation.rule, _VARYING.sub("#", evidence)))
    return frozenset(found)


def _new(result: CheckResult, known: Known, check: Check) -> str:
    """Return what fails that was not, or else; machines draw their programs, so only the rules count in what they say."""
    found = _failures(result)
    new = found - known.failures
    if check.is_machine or known.last:
        new = frozenset(failure for failure in new if failure[0] not in {rule for rule, _ in known.failures})
    return "; ".join(f"{rule}: {evidence}" for rule, evidence in sorted(new))


class _Missing:
    """Refuses to import a module."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Raise ``ImportError`` for this module."""
        if name == self._name:
            raise ImportError(name)


def _get_warm(modules: Iterable[str], without: str) -> None:
    """Import modules, such as others needed them, but none that needs a certain one, which mutants will stand for."""
    assert without not in sys.modules, f"{without} is imported already, so no mutant would be"
    missing = _Missing(without)
    sys.meta_path.insert(0, missing)  # type: ignore[arg-type]
    for module in modules:
        if module.partition(".")[0] not in WARM or module.endswith("reactor"):
            continue  # reactors are installed when they are imported
        before = set(sys.modules)
        try:
            importlib.import_module(module)
        except ImportError:
            for name in sys.modules.keys() - before:
                if name.partition(".")[0] not in ONCE:
                    _forget(name)
    sys.meta_path.remove(missing)  # type: ignore[arg-type]


def _forget(name: str) -> None:
    """Forget a module, also in its package, where ``from package import module`` would find it."""
    module = sys.modules.pop(name)
    package, _, last = name.rpartition(".")
    if getattr(sys.modules.get(package), last, None) is module:
        delattr(sys.modules[package], last)

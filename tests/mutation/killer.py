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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
from queue_conformance.processes.stopwatch import Stopwatch
from queue_conformance.running.contexts import RunConfig
from queue_conformance.specification import Level, Rule
from queue_conformance.specification.applicability import installed_releases

Failures = frozenset[tuple[str, str]]
"""Rules that failed, each with its evidence."""

CHEAP = 0.3
"""CPU seconds that a check may take at most to share a process with others."""

LEFT_OPEN = 20
"""Files that a check may leave open at most to share a process with others."""

HANGS_CPU, HANGS_WALL = 6.0, 45.0
"""Seconds after which a check of a mutant hangs, beyond what it takes on the module as it is: busy, and waiting, without those
in which the machine was busy with others."""

PATIENCE = 10.0
"""Seconds that the kit itself lets an operation take."""

IMPORT, HANGS, DIES = "import", "hangs", "dies"

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
class Death:
    """Something that fails of a mutant and not of the module as it is.

    Attributes:
        name: the class.
        check: what saw it.
        how: the evidence.
        must: whether a run over the class would fail, as it does by MUST rules, and where the class cannot be loaded.
    """

    name: str
    check: str
    how: str
    must: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.check}: {self.how}" if self.name else f"{self.check} {self.how}"


@dataclass(frozen=True)
class Fate:
    """What became of a mutant.

    Attributes:
        first: what killed it, or ``None``.
        must: what killed it by a MUST rule, or ``None``.
        trouble: the internal error of the kit that it ended in, or ``""``.
        seconds: CPU seconds that it took.
    """

    first: Death | None = None
    must: Death | None = None
    trouble: str = ""
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
                last = check.is_machine or any(part in check.module.split(".") for part in LAST)
                if last and not self.thorough:
                    continue
                start = _cpu()
                failures = _failures(implementation_run.run(check))
                seconds = _cpu() - start
                again: Failures = frozenset()
                traced: tuple[Failures, frozenset[int]] | None = None
                if seconds < CHEAP and not last:
                    if failures:  # it may say something else each time
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
        plan = self._plan(function)
        try:
            fate = self._watched(lambda say: self._examined(plan, say))
            if fate.first and fate.first.how in (HANGS, DIES) and not fate.must:
                # Where each check has a process of its own, which the kit watches, a rule fails by that.
                apart = [(name, replace(known, shares=False, seconds=known.seconds + PATIENCE)) for name, known in plan]
                places = (n for n, (name, known) in enumerate(plan) if (name, known.check) == (fate.first.name, fate.first.check))
                place = next(places, 0)
                alone = self._watched(lambda say: self._examined(apart[place:], say))
                fate = replace(fate, must=alone.must, seconds=fate.seconds + alone.seconds)
        finally:
            self.file.write_text(self.source, "utf-8")
        if last := fate.must or fate.first:
            self.kills[last.name, last.check] += 1
        return fate

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

    def _examined(self, plan: list[tuple[str, Known]], say: Callable[[str], None]) -> tuple[Death | None, Death | None]:
        """Return what kills this module first, and what kills it by a MUST rule."""
        first = None
        for death in self._deaths(plan, say):
            first = first or death
            if death.must:
                return first, death
        return first, None

    def _deaths(self, plan: list[tuple[str, Known]], say: Callable[[str], None]) -> Iterator[Death]:
        """Yield what fails, check after check; after the first, only checks of MUST rules are asked."""
        with _scratch(self.root.parent) as directory, contextlib.chdir(directory):  # a mutant may store where it is
            shared = self._config(directory, alone=False)
            alone = self._config(directory, alone=True)
            classes = dict.fromkeys(name for name, _ in plan)
            say(f"{next(iter(classes))} {IMPORT} 0")
            try:
                together = {name: ImplementationRun(self.bases[name].discovery, shared, self.releases) for name in classes}
                apart = {name: ImplementationRun(self.bases[name].discovery, alone, self.releases) for name in classes}
            except Exception as error:  # the kit may be the first to import what needs the module
                yield Death(next(iter(classes)), IMPORT, str(error), must=True)
                return
            assert sys.modules[self.subject.module].__file__ == str(self.file), "the copy is not what is imported"
            gating = {name: _gating(run.rules) for name, run in together.items()}
            discovered = failing = False

            def discover_all() -> Iterator[Death]:
                nonlocal discovered, failing
                for other in () if discovered else classes:
                    say(f"{other} discovery {PATIENCE}")
                    death, gating[other] = self._discovered(other, alone, gating[other])
                    if death:
                        failing = True
                        yield death
                discovered = True

            for name, known in plan:
                if not known.shares:
                    yield from discover_all()
                if known.check in {result.check for result in self.bases[name].discovery.smoke}:
                    continue  # the discovery of the mutant tests them
                check = next(check for check in together[name].checks if check.name == known.check)
                if failing and not gating[name] & set(check.rules):
                    continue
                say(f"{name} {known.check} {known.seconds}")
                # What shares a process may suffer from what others left there: it counts only if it happens alone too. And what
                # is no Exception, such as CancelledError, comes through all that is below: alone, the kit knows what it is.
                with contextlib.suppress(BaseException):
                    if known.shares and not _new(together[name].run(check), known, check):
                        continue
                try:
                    new = _new(apart[name].run(check), known, check)
                except Exception:  # an internal error, which fails no rule
                    continue
                if not new:
                    continue
                failing = True
                how = "; ".join(f"{rule}: {evidence}" for rule, evidence in sorted(new))
                broken = {rule for rule, _ in new}
                if broken & gating[name]:
                    # Of a class that has lost a capability, the rules that need it are not asked.
                    yield from discover_all()
                yield Death(name, known.check, how, must=bool(broken & gating[name]))

    def _discovered(self, name: str, config: RunConfig, gating: frozenset[str]) -> tuple[Death | None, frozenset[str]]:
        """Return what the kit finds out about the class that it did not find out about the module as it is.

        Returns:
            That, and which of the rules by which a run fails are asked of the mutant, too.
        """
        base = self.bases[name].discovery
        try:
            found = discover(base.path, self.subject.classes[name], self.subject.claims, config)
        except LoadError as error:
            return Death(name, "discovery", str(error), must=True), gating
        known = {result.check: _failures(result) for result in base.smoke}
        for result in found.smoke:
            if new := {rule for rule, _ in _failures(result)} - {rule for rule, _ in known.get(result.check, ())}:
                return Death(name, "discovery", f"breaks {', '.join(sorted(new))}", must=bool(new & gating)), gating
        lost = base.found.names - found.found.names
        gained = found.found.names - base.found.names
        if lost:
            how = f"loses {', '.join(sorted(lost))}" + (f", gains {', '.join(sorted(gained))}" if gained else "")
            gating &= _gating(ImplementationRun(found, config, self.releases).rules)
            return Death(name, "discovery", how, must=False), gating
        return None, gating

    def _watched(self, function: Callable[[Callable[[str], None]], tuple[Death | None, Death | None]]) -> Fate:
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
                say(f"= {pickle.dumps(f'{type(error).__name__}: {error}').hex()}")
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
            how = HANGS if os.WIFSIGNALED(status) and os.WTERMSIG(status) == 9 else DIES
            name, check = doing
            death = Death(name, check, how, must=check == IMPORT)
            return Fate(death, death if death.must else None, seconds=seconds)
        if isinstance(found, str):  # an internal error, which fails no rule
            return Fate(trouble=found, seconds=seconds)
        first, must = found
        return Fate(first, must, seconds=seconds)


def _followed(pid: int, reader: int) -> tuple[tuple[str, str], Any]:
    """Return the class and the check that a process did last, and what it sent, or ``None`` if it takes too long or dies."""
    data, doing, limit = b"", ("", IMPORT), 0.0
    watch = Stopwatch(pid)  # a machine that is busy makes nothing hang
    since, spent = 0.0, _spent(pid)
    while True:
        watch.look()
        if select.select([reader], [], [], 0.1)[0]:
            chunk = os.read(reader, 1 << 16)
            if not chunk:
                return doing, None
            data += chunk
            *lines, data = data.split(b"\n")
            for line in lines:
                name, check, *seconds = line.decode().split()
                if name == "=":
                    return doing, pickle.loads(bytes.fromhex(check))
                doing, limit = (name, check), float(seconds[0])
                since, spent = watch.seconds, _spent(pid)
        if _spent(pid) - spent > HANGS_CPU + 5 * limit or watch.seconds - since > HANGS_WALL + 20 * limit:
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


def _new(result: CheckResult, known: Known, check: Check) -> Failures:
    """Return what fails that was not, or else; machines draw their programs, so only the rules count in what they say."""
    new = _failures(result) - known.failures
    if check.is_machine or known.last:
        new = frozenset(failure for failure in new if failure[0] not in {rule for rule, _ in known.failures})
    return new


def _gating(rules: Mapping[str, Rule]) -> frozenset[str]:
    """Return the rules by which a run fails that asks for what is MUST."""
    return frozenset(name for name, rule in rules.items() if rule.gates(Level.MUST))


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

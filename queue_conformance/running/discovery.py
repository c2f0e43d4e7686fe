"""Everything about an implementation that must be known before its checks can be chosen.

A discovery loads the class, tells its kind, uses it once and probes what it offers, in a process of its own: importing a
module can hang or end the interpreter too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from queue_conformance import guard
from queue_conformance.engine.budget import Budget
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.kept_store import KeptStore
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome, RuleFailed
from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.registry import checks_of, make_driver, part_of
from queue_conformance.faults import servers
from queue_conformance.faults.connections import connected
from queue_conformance.guard.limits import address, origin_of
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import ERRORS, Capabilities, Order, apply_claims, held_to, untried
from queue_conformance.implementation.expectations import hold, lineage_of, promised
from queue_conformance.implementation.loading import (
    LoadError,
    abstract,
    check_components,
    is_importable,
    load_class,
    load_error,
    package_version,
    tell_kind,
)
from queue_conformance.implementation.signatures import as_arguments, takes_key
from queue_conformance.processes import endings, isolation
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.processes.stopwatch import IdleTime
from queue_conformance.running.aborts import fatal_result, left_note
from queue_conformance.running.claims import foreign, without_effect
from queue_conformance.running.confirmation import confirmed
from queue_conformance.running.contexts import RunConfig, in_context, run_blaming
from queue_conformance.running.execution import observe
from queue_conformance.running.first_use import first_use, untestable
from queue_conformance.running.handed_in import declines, expect_arguments, expect_preparation, expect_settings
from queue_conformance.running.reaching import UNREACHED, Reach, connections_of, reach_of
from queue_conformance.running.side_effects import keeping_signal_handlers, noting, quietly
from queue_conformance.running.slowness import waits
from queue_conformance.running.smoke import claims_of, smoke_check_of
from queue_conformance.specification import Rule, load
from queue_conformance.specification.applicability import rules_of
from queue_conformance.specification.kinds import Kind, Profile, kind_named, profile_named
from queue_conformance.specification.settings import PLACES, unknown_word
from queue_conformance.specification.suggestion import did_you_mean


@dataclass(frozen=True)
class Discovery:
    """What is known of an implementation.

    Attributes:
        path: its dotted path.
        kind: what it is.
        profile: the contract that it is held to.
        version: its package and the release of that.
        found: what it offers, as found by probing.
        claims: what its author claims.
        settings: what it is built with.
        server: the server that it stores in, as ``--queue-server`` names it, or ``""``.
        smoke: what came of using it once, and of its claims.
        notes: what else is worth reporting.
        hooked: whether the author's hook builds it, if there is one.
        lineage: the dotted paths of the class and of its base classes.
        promised: the capabilities that its docstring promises.
        also: a second contract that it is measured by, which fails no run, or ``None``.
        built_by_scrapy: whether its class can be built as Scrapy builds queues.
        cost: seconds that one operation takes.
        idle: whether it spends most of them in waiting, so that others can use the processor.
        kept: what earlier versions of it have stored.
    """

    path: str
    kind: Kind
    profile: Profile
    version: str
    found: Capabilities
    claims: Mapping[str, str]
    settings: Mapping[str, Any]
    server: str
    smoke: tuple[CheckResult, ...]
    notes: tuple[str, ...]
    hooked: bool = True
    lineage: frozenset[str] = frozenset()
    promised: frozenset[str] = frozenset()
    also: Profile | None = None
    built_by_scrapy: bool = True
    cost: float = 0.0
    idle: bool = False
    kept: tuple[KeptStore, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the class can be used at all, so that its checks make sense."""
        return not self.unusable

    @property
    def unusable(self) -> str:
        """Why its checks make no sense, or ``""``."""
        if not self.smoke or self.smoke[0].finished:
            return ""
        if self.smoke[0].trouble:
            return self.smoke[0].trouble
        return f"blocked by {', '.join(self._broken)}" if self._broken else ""

    @property
    def _broken(self) -> list[str]:
        """The rules that its first use broke."""
        first = self.smoke[0].observations if self.smoke else ()
        return [observation.rule for observation in first if observation.outcome is Outcome.FAILED]

    def implementation(self, cls: type[Any] | None = None) -> Implementation:
        """Return the class with all that is known of it.

        Args:
            cls: the class, or ``None`` to import it here.

        Raises:
            LoadError: if it cannot be imported any more.
        """
        importable = cls is None or is_importable(self.path, cls)
        if cls is None:
            with quietly(), keeping_signal_handlers():
                cls = load_class(self.path)
        capabilities = apply_claims(self.found, self.claims)
        errors = {name: load_error(self.claims[name]) for name in ERRORS if name in self.claims}
        implementation = Implementation(
            self.path,
            cls,
            self.kind,
            self.profile,
            self.settings,
            self.claims,
            capabilities,
            errors,
            self.hooked,
            server=self.server,
            importable=importable,
            failed=frozenset(self._broken),
            cost=self.cost,
            kept=self.kept,
        )
        # What a driver imports is imported once, here, and not in every process that is forked.
        make_driver(implementation, Path(), Recorder(Watchdog()))
        return implementation

    def rules(self, profile: Profile | None = None) -> dict[str, Rule]:
        """Return the rules of a profile that are asked of this class, by id, at the level that they have for it.

        Args:
            profile: the contract, if not the one that it is held to.
        """
        return rules_of(load(), self.kind, profile or self.profile, self.lineage, self.claims, self.promised)


def discover(
    path: str,
    settings: Mapping[str, Any],
    claims: Mapping[str, str],
    config: RunConfig,
    option: str = "",
    cls: type[Any] | None = None,
) -> Discovery:
    """Find out what must be known of a class before it is tested.

    Args:
        path: its dotted path.
        settings: crawler settings, or arguments of the constructor, as text.
        claims: what its author claims.
        config: how checks are run.
        option: the option that names the class, without dashes, if one does.
        cls: the class, or ``None`` to import it.

    Returns:
        What is known.

    Raises:
        LoadError: if there is nothing to test; the message is one line.
    """
    for name, value in settings.items():
        if word := unknown_word(value):
            words = ", ".join(f"{{{place}}}" for place in PLACES)
            raise LoadError(f"the setting {name}: {{{word}}} stands for nothing; {words} do, for what --queue-server names")
    import scrapy  # noqa: F401  (most classes need it: import it once, here, and not in every process that is forked)

    ended = isolation.twice(
        lambda: run_blaming(path, lambda watchdog: _loaded(path, settings, claims, config, option, watchdog, cls), config)
    )
    _expect_no_refusal(path, settings, config)
    if isinstance(ended, endings.Abort):
        raise LoadError(f"importing {path} {ended.how}")
    if isinstance(ended.value, str):
        raise LoadError(ended.value)
    loaded = ended.value
    claims = loaded.claims
    checks_of(loaded.kind)  # import them once, here, and not in every process that is forked
    part_of(loaded.kind, "smoke")
    implementation = loaded.implementation(cls)
    rules = loaded.rules()

    if loaded.server:
        _prepare(loaded.server, config.directory)
    if config.prepare is not None and loaded.kind.crawled:
        expect_preparation(config.prepare, config)
    if config.factory is not None and loaded.hooked:
        expect_arguments(config.factory, settings if not loaded.kind.crawled else {})
        if declines(implementation, config):
            if not config.may_decline:
                raise LoadError(f"the function that opens the queue returned None, and not a {path.rpartition('.')[2]}")
            loaded = replace(loaded, hooked=False)
            implementation = loaded.implementation(cls)
    if not loaded.kind.crawled:
        expect_settings(implementation, config.factory if loaded.hooked else None)

    ended_use = first_use(implementation, config, rules, {} if config.of_project else settings)
    _expect_no_refusal(path, settings, config)
    if isinstance(ended_use, endings.Abort):
        if ended_use.steps == (isolation.FORK,):
            why = f"{isolation.FORK} {ended_use.how}: look for os.register_at_fork"
            raise LoadError(f"{path}, once imported, lets no process begin: {why}")
        return replace(loaded, smoke=(fatal_result(smoke_check_of(loaded.kind), implementation, rules, config, ended_use),))
    use, smoke = ended_use.value, ended_use.value.result
    if use.lacked.line:
        smoke = untestable(smoke, use.lacked.line)
    elif use.uncertain:
        smoke = confirmed(smoke, None, config)
    if use.needs_engine:
        from queue_conformance.environments import crawls  # with Scrapy, which takes a quarter of a second

        crawls.preload()  # as the first engine of each process would
    if use.unknown:
        raise LoadError(use.unknown)
    if loaded.kind == "crawl" and loaded.server and use.addresses:
        raise LoadError(_misled(implementation, use.addresses[0]))
    known = replace(loaded, smoke=(smoke,), notes=(*loaded.notes, *use.notes, *left_note(ended_use)), cost=use.cost)
    if use.addresses and not known.server and not use.lacked.line:
        known = _at(known, use.addresses[0])
    if not known.usable:
        return known
    implementation = known.implementation(cls)

    def probed(context: CheckContext) -> tuple[Capabilities, CheckResult, Reach, float, float, bool] | CheckResult:
        before, idle = connections_of(context), IdleTime()
        context.driver.vary(())
        try:
            with quietly():
                found = _probe(context)
                # Once the probe has chosen a loop.
                reach = reach_of(context, before) if context.backend or loaded.kind.stores else Reach()
                slow = waits(context)
        except (RuleFailed, OSError) as error:  # it has left open what others need, too
            return observe(replace(smoke_check_of(loaded.kind), function=partial(_failing, error)), context, rules)
        found = replace(found, server=reach.proxied or bool(reach.past), kept=bool(config.kept))
        if (found.server or claims.get("server") == "yes") and loaded.kind.stores:
            found = hold(found, implementation.cls, implementation.settings, {"persistent": ["it stores in a server"]})
        context.implementation = replace(implementation, capabilities=found)
        claimed = observe(claims_of(loaded.kind), context, rules)
        lines = untried(found, claims).items()
        left = [Observation(rule, Outcome.NOT_COVERED, claimed.check, why) for rule, why in lines if rule in rules]
        claimed = replace(claimed, observations=(*claimed.observations, *left))
        return found, claimed, reach, context.recorder.costs.mean, slow, idle.prevails

    ended_probe = isolation.twice(lambda: in_context(implementation, config, probed))
    _expect_no_refusal(path, settings, config)
    if isinstance(ended_probe, endings.Abort):
        fatal = fatal_result(smoke_check_of(loaded.kind), implementation, rules, config, ended_probe)
        failed = tuple(o for o in fatal.observations if o.outcome is Outcome.FAILED)
        return replace(known, smoke=(replace(smoke, observations=(*smoke.observations, *failed), fatal=True, finished=False),))
    if isinstance(ended_probe.value, CheckResult):
        return replace(known, smoke=(ended_probe.value,))
    found, claimed, reach, cost, slow, idle = ended_probe.value
    known = replace(known, cost=max(cost or known.cost, slow))  # some are probed in other processes
    known = replace(known, idle=idle and Budget(known.cost).short)
    if reach.lost:
        raise LoadError(f"{path}: {reach.note}")
    offered = apply_claims(found, claims)
    if reach.note:
        known = replace(known, notes=(*known.notes, reach.note))
    if offered.server and not found.server:
        known = replace(known, notes=(*known.notes, UNREACHED))
    known = replace(known, notes=(*known.notes, *_held(found, claims)))
    if more := Budget(known.cost).more:
        known = replace(known, notes=(*known.notes, f"an operation takes {known.cost:.2g} s, so loops are shorter{more}"))
    profile, also = _contracts(known, offered, config)
    refuted = bool(claimed.failed)
    line = without_effect(known.kind, claims, known.lineage, found, (profile, also), refuted=refuted)
    if line and not config.of_project:
        raise LoadError(f"{path}: {line}")
    # What is sent later than with the first push must not find "{host}" where its address should be.
    needed = any("{host}" in value or "{port}" in value for value in map(str, known.settings.values()))
    server = known.server if reach.proxied or needed else ""
    if config.server and not found.server and not offered.server:
        known = replace(known, notes=(*known.notes, "it does not use the server that --queue-server names"))
    return replace(known, found=found, smoke=(smoke, claimed), profile=profile, also=also, server=server)


def _contracts(known: Discovery, offered: Capabilities, config: RunConfig) -> tuple[Profile, Profile | None]:
    """Return the contract that a class is held to, and another one that it is measured by as well.

    A queue behind a server has two: the documented interface, and what the installed release of Scrapy relies on. The first
    one gates where the author says so, or names a server and leaves the queue for Scrapy to build.
    """
    usual, documented = known.kind.profile, known.kind.behind_server
    if documented is None or not offered.server:
        return known.profile, None
    by_hook = config.factory is not None and known.hooked and not known.built_by_scrapy
    gate = profile_named(known.claims.get("profile", documented if config.server and not by_hook else usual))
    return gate, usual if gate == documented else documented


def _held(found: Capabilities, claims: Mapping[str, str]) -> Iterator[str]:
    """Yield a note on each capability that did not show, and that an implementation is held to."""
    for name, why in held_to(found, claims).items():
        yield f"held to {name}, which did not show: {why}; where that is not meant, say --conformance-claim={name}=no"
    if "order" in found.held and "order" not in claims:
        order = found.held["order"]
        yield f"held to {order}, as its base class is, and it does not keep it; another order is claimed by order={Order.NONE}"


def _prepare(server: str, directory: Path) -> None:
    try:
        servers.prepare(server, directory)
    except servers.ServerError as error:
        raise LoadError(f"{error}; start it, or name one that the kit starts") from error


def _expect_no_refusal(path: str, settings: Mapping[str, Any], config: RunConfig) -> None:
    """Go no further with a class that was refused something: what it tried to reach is no server of its author's to test with.

    Raises:
        LoadError: if it was.
    """
    if config.guard is not None and (line := config.guard.refused(path, settings)):
        raise LoadError(line)


def _misled(implementation: Implementation, seen: tuple[str, int]) -> str:
    """Return a line on settings that lead to another server than the one for tests: each crawl reads them anew."""
    where = address(*seen)
    return (
        f"{implementation.path} cannot be tested here: it connects to {where} ({origin_of(where, implementation.settings)}), and "
        "not to what --queue-server names: write {host} and {port} for the address, as in "
        "--queue-setting='REDIS_URL=redis://{host}:{port}/0'"
    )


def _at(known: Discovery, address: tuple[str, int]) -> Discovery:
    """Return what is known of a class that connects to a server that the author runs.

    Raises:
        LoadError: if no server answers there.
    """
    name = f"{address[0]}:{address[1]}"
    try:
        connected(address, 2).close()
    except OSError:
        raise LoadError(f"{known.path} connects to {name}, where no server answers; --queue-server starts one") from None
    return replace(known, server=name, notes=(*known.notes, f"it uses the server at {name}; --queue-server starts another"))


def _loaded(
    path: str,
    settings: Mapping[str, Any],
    claims: Mapping[str, str],
    config: RunConfig,
    option: str,
    watchdog: Watchdog,
    cls: type[Any] | None,
) -> Discovery | str:
    """Import the class and look at it from outside; return a line of text if there is nothing to test."""
    notes: list[str] = []
    watchdog.enter(f"import {path}", "")
    try:
        with noting(notes, path, "imported"):
            cls = cls or load_class(path)
        guard.look_at(cls)
        kind = kind_named(claims["kind"]) if "kind" in claims else tell_kind(cls, option, path)
        for name in ERRORS:
            if name in claims:
                load_error(claims[name])
        if line := abstract(cls, path):
            raise LoadError(line)
        if kind.crawled:
            check_components(settings)
        if "follows" in claims and claims["follows"] not in (bound := {path for rule in load().values() for path in rule.binds}):
            raise LoadError(
                f"the claim follows={claims['follows']}: no rule speaks of that class{did_you_mean(claims['follows'], bound)}"
            )
        if config.of_project:
            claims = {name: value for name, value in claims.items() if not foreign(kind, {name: value}, settings)}
        if line := foreign(kind, claims, settings):
            raise LoadError(f"{path}: {line}")
    except LoadError as error:
        return str(error)
    except KeyboardInterrupt:
        if config.in_process:
            raise
        return f"importing {path} raised KeyboardInterrupt"
    finally:
        watchdog.leave()
    for store in config.kept:
        if store.kind != kind:
            return f"{store.directory} was written by {path} as a {store.kind.words}, which is a {kind.words} now"
    hooked = kind.built_by_authors
    if config.factory is not None and not hooked:
        line = (
            f"no function of an author's builds a {kind.replace('-', ' ')}: the kit drives it by the arguments of its constructor"
        )
        if not config.may_decline:
            return f"{path}: {line}"
        notes.append(f"pytest_open_queue is not called: {line}")
    values = settings if kind.crawled else as_arguments(cls, settings)
    profile = profile_named(claims.get("profile", kind.profile))
    version, server = package_version(cls, path), config.server
    loaded = Discovery(path, kind, profile, version, Capabilities(), claims, values, server, (), tuple(notes), hooked)
    known = {"lineage": lineage_of(cls), "promised": promised(cls), "built_by_scrapy": takes_key(cls), "kept": config.kept}
    return replace(loaded, **known)  # type: ignore[arg-type]


def _failing(error: Exception, _context: CheckContext) -> NoReturn:
    """Fail as a check does that fails like this."""
    raise error


def _probe(context: CheckContext) -> Capabilities:
    workdirs = count()

    def workdir() -> Path:
        return context.enter(f"probe{next(workdirs)}")

    found: Capabilities = context.driver.probe(workdir)
    return found

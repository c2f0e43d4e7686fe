"""The third stage: a class is used once; what first of that, and whether something around the class made it fail."""

from __future__ import annotations

import contextlib
import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any

from queue_conformance.discovery.lacking import OF_NOTHING, Lacked, give, lacked
from queue_conformance.discovery.record import Candidate, Discovery
from queue_conformance.discovery.smoke import smoke_check_of
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome
from queue_conformance.engine.recording import call_of, describe
from queue_conformance.faults.connections import connected
from queue_conformance.faults.redirection import redirected
from queue_conformance.guard.limits import address, origin_of
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import LoadError, abstract
from queue_conformance.processes import isolation
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.isolation import Answer
from queue_conformance.running.aborts import fatal_result, left_note
from queue_conformance.running.confirmation import confirmed
from queue_conformance.running.contexts import RunConfig, in_context
from queue_conformance.running.execution import needs_confirmation, observe
from queue_conformance.running.side_effects import noting
from queue_conformance.specification import Rule
from queue_conformance.specification.settings import PORT, Text

_MOST = 8
"""Of how many settings that nobody set each is tried alone."""

PLACEHOLDER = "placeholder"
"""What a setting that nobody set is set to, to see whether that makes a difference."""


@dataclass(frozen=True)
class FirstUse:
    """What first of using a class once.

    Attributes:
        result: what it says of rules.
        notes: what else is worth reporting.
        unknown: a line on a mistake of whoever named the class, such as a setting that nobody reads, or ``""``.
        addresses: where it connected to.
        needs_engine: whether it asked for the engine of its crawler.
        uncertain: whether a failure should be confirmed in a process of its own.
        steps: how many operations it first through.
        error: what the last one raised, or ``""``.
        lacked: what the class lacks around it, as far as that can be told from what it raised.
        cost: seconds that an operation took.
    """

    result: CheckResult
    notes: tuple[str, ...]
    unknown: str
    addresses: tuple[tuple[str, int], ...]
    needs_engine: bool
    uncertain: bool
    steps: int
    error: str
    lacked: Lacked = field(default_factory=Lacked)
    cost: float = 0.0

    def comes_further(self, other: FirstUse) -> bool:
        """Whether it got through more operations than another use did, or to its end where that one failed."""
        return bool(other.result.failed) and (self.result.finished or self.steps > other.steps)


def _use_once(
    context: CheckContext,
    rules: Mapping[str, Rule],
    settings: Mapping[str, Any],
    instead: Mapping[str, str] = MappingProxyType({}),
) -> FirstUse:
    """Use a class once.

    Args:
        settings: what its author gave it.
        instead: what it finds in some of the settings that nobody set, and that have no default.
    """
    notes: list[str] = []
    addresses: list[tuple[str, int]] = context.backend.seen if context.backend else []
    implementation = context.implementation
    reader = context.driver.watch_settings() if implementation.kind.crawled else None
    if reader:
        reader.instead = instead
    looking = contextlib.nullcontext() if context.backend else redirected(None, addresses)
    with noting(notes, implementation.path, "used once"), looking:
        context.driver.vary(())  # what it does to others than plain items is a matter of the checks
        result = observe(smoke_check_of(implementation.kind), context, rules)
    last = context.recorder.steps[-1] if context.recorder.steps else None
    error = last.error if result.failed and last is not None else None
    unknown = reader.unknown(settings, implementation.path) if reader and settings else ""
    if unknown and result.failed:  # it may not have come so far as to read the setting
        notes.append(unknown)
        unknown = ""
    if last is not None and isinstance(error, NotImplementedError):
        called = call_of(last).partition("(")[0].rpartition(".")[2]
        unknown = abstract(implementation.cls, implementation.path, "__len__" if called == "len" else called)
    return FirstUse(
        result,
        tuple(notes),
        unknown,
        tuple(addresses),
        implementation.kind.crawled and context.driver.crawler.asked,
        needs_confirmation(context, result),
        len(context.recorder.steps),
        describe(error, 200) if error else "",
        lacked(error, context.driver, reader) if error else Lacked(),
        context.recorder.costs.mean,
    )


def use(known: Discovery, candidate: Candidate) -> Discovery:
    """Use a class once, and note what first of it.

    Raises:
        LoadError: if whoever named the class was mistaken, or no process can begin where it was imported.
    """
    config, rules, implementation = candidate.config, known.rules(), known.implementation(candidate.cls)
    ended = _first_use(implementation, candidate, rules)
    if isinstance(ended, Abort):
        if ended.steps == (isolation.FORK,):
            why = f"{isolation.FORK} {ended.how}: look for os.register_at_fork"
            raise LoadError(f"{candidate.path}, once imported, lets no process begin: {why}")
        return replace(known, smoke=(fatal_result(smoke_check_of(known.kind), implementation, rules, config, ended),))
    first, smoke = ended.value, ended.value.result
    if first.lacked.line:
        smoke = _untestable(smoke, first.lacked.line)
    elif first.uncertain:
        smoke = confirmed(smoke, None, config)
    if first.needs_engine and not config.in_process:
        from queue_conformance.environments import crawls  # with Scrapy, which takes a quarter of a second

        crawls.preload()  # as the first engine of each process would
    if first.unknown:
        raise LoadError(first.unknown)
    if known.kind == "crawl" and known.server and first.addresses:
        raise LoadError(_misled(implementation, first.addresses[0]))
    known = replace(known, smoke=(smoke,), notes=(*known.notes, *first.notes, *left_note(ended)), cost=first.cost)
    if first.addresses and not known.server and not first.lacked.line:
        known = _at(known, first.addresses[0])
    return known


def _first_use(implementation: Implementation, candidate: Candidate, rules: Mapping[str, Rule]) -> Answer[FirstUse] | Abort:
    """Use a class once; where it fails for a setting that nobody set, or for the type of one, tell that.

    A setting is to blame where a class that fails comes further, or fails otherwise, with another value of it.
    """
    config, settings = candidate.config, {} if candidate.config.of_project else candidate.settings
    ended = candidate.try_alone(partial(in_context, implementation, config, partial(_use_once, rules=rules, settings=settings)))
    if isinstance(ended, Abort) or not ended.value.error or ended.value.lacked.line:
        return ended
    found = ended.value
    if line := _of_settings(found, implementation, replace(config, guard=copy.copy(config.guard)), rules):
        return replace(ended, value=replace(found, lacked=replace(found.lacked, line=line)))
    return ended


def _of_settings(found: FirstUse, implementation: Implementation, config: RunConfig, rules: Mapping[str, Rule]) -> str:
    """Return which settings make the first use fail, in one line that says what to do, or ``""``."""

    def used(instead: Mapping[str, str], **settings: Any) -> FirstUse | None:
        """Use it once more, with other settings; what it tries to reach then is no matter of its author's."""
        other = replace(implementation, settings={**implementation.settings, **settings})
        ended = in_context(other, config, partial(_use_once, rules=rules, settings={}, instead=instead))
        return ended.value if isinstance(ended, Answer) else None

    unset = found.lacked.unset if found.lacked.may_be_unset else ()
    for names in _suspected(unset):
        if (other := used(dict.fromkeys(names, PLACEHOLDER))) and (other.comes_further(found) or _other_end(found, other)):
            return f"it raised {found.error} without {' or '.join(names)}, which it reads: {give(names)}"
    retyped = {name: other for name, value in implementation.settings.items() if (other := _retyped(value)) is not None}
    if retyped and (other := used({}, **retyped)) and other.comes_further(found):
        said = " ".join(f"--queue-setting='{name}:={json.dumps(value)}'" for name, value in retyped.items())
        return f"it raised {found.error}, and comes further with other types of its settings: write {said}"
    texts = [name for name, value in implementation.settings.items() if isinstance(value, str) and _OF_TEXT.search(found.error)]
    for name, empty in product(texts, ("[]", "{}")):
        if (other := used({}, **{name: json.loads(empty)})) and other.comes_further(found):
            said = f"write what it wants in JSON, as --queue-setting='{name}:={empty[0]}...{empty[1]}'"
            return f"it raised {found.error}, and comes further with {empty} for {name}, which is text: {said}"
    return ""


_OF_TEXT = re.compile(r"string indices must be integers|'str' object")
"""What is raised for a text where a list of tables, a list or a table is wanted."""


def _suspected(unset: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the settings that a class may have failed for: the one that it read last, those before it, and all of them."""
    yield from ((name,) for name in unset[: -_MOST - 1 : -1])
    if len(unset) > 1:
        yield unset


def _other_end(found: FirstUse, other: FirstUse) -> bool:
    """Whether an operation that raised for what is not there raises something else, no sooner, with what was put there."""
    no_sooner = other.steps == found.steps and {*other.lacked.unset} >= {*found.lacked.unset}
    for_it = "None" in found.error or found.error.startswith(("AssertionError", *(kind.__name__ for kind in OF_NOTHING)))
    return no_sooner and other.error != found.error and for_it


def _retyped(value: Any) -> Any:
    """Return the number, list or table that a text is in JSON, and a text for a number; ``None`` for anything else."""
    if type(value) is str and value == PORT:
        return Text(value)
    if isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(value)
            return found if isinstance(found, (int, float, list, dict)) else None
        return None
    return Text(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _untestable(result: CheckResult, line: str) -> CheckResult:
    """Return what is known of a class that lacks something around it: nothing of any rule.

    Args:
        result: what first of its first use.
        line: what it lacks, and what to do.
    """
    line = f"it cannot be used here: {line}"
    blocked = tuple(Observation(one.rule, Outcome.BLOCKED, one.check, line) for one in result.observations)
    return replace(result, observations=blocked, finished=False, trouble=line)


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

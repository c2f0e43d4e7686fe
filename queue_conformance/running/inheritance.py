"""Whether a class has a mistake from a class of Scrapy, queuelib or qCrawl that it derives from, and not of its own."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from queue_conformance.engine.outcomes import CheckResult, Observation, TimeIsOver, Violation
from queue_conformance.running.confirmation import ScriptError, fails
from queue_conformance.running.contexts import RunConfig
from queue_conformance.specification import Level, Rule
from queue_conformance.specification.applicability import installed_releases
from queue_conformance.specification.grounds import Basis


def with_bases(result: CheckResult, cls: type[Any], rules: Mapping[str, Rule], config: RunConfig) -> CheckResult:
    """Return what came of a check, where failed MUST rules name the released class that fails in the same way.

    Args:
        result: what came of it.
        cls: the class.
        rules: the rules that it may speak of, by id.
        config: how checks are run.
    """
    base = released_base(cls)
    if base is None:
        return result
    path = f"{base.__module__}.{_name_of(base)}"

    def told(one: Observation) -> Observation:
        rule = rules[one.rule]
        if one.violation is None or rule.level is not Level.MUST or rule.basis is Basis.CLAIM:  # which the base makes none
            return one
        return replace(one, violation=replace(one.violation, base=path * _fails_too(one.violation, cls, base, config)))

    return replace(result, observations=tuple(map(told, result.observations)))


def released_base(cls: type[Any]) -> type[Any] | None:
    """Return the nearest base class of another package that rules speak of, if it can be imported by its name and built."""
    own = _package(cls)
    for base in cls.__mro__[1:-1]:
        if _package(base) in installed_releases().keys() - {own}:
            return base if _name_of(base) and not inspect.isabstract(base) else None
    return None


def _package(cls: type[Any]) -> str:
    return str(cls.__module__).partition(".")[0]


def _name_of(cls: type[Any]) -> str:
    """Return the name of a class in its module, or ``""``: some are made by functions."""
    module = sys.modules.get(str(cls.__module__))
    return next((name for name, value in vars(module).items() if value is cls), "") if module else ""


def _fails_too(violation: Violation, cls: type[Any], base: type[Any], config: RunConfig) -> bool:
    """Whether the script fails in the same way with the base class, whose method failed."""
    line = f"from {cls.__module__} import {cls.__qualname__}\n"
    used = re.findall(rf"\b{cls.__qualname__}\.(\w+)", violation.script)
    method = re.sub(r"^(\w+\.)?(\w*).*", r"\2", violation.cause)
    if line not in violation.script or not _is_asked(cls, base, method) or not all(hasattr(base, name) for name in used):
        return False
    script = violation.script.replace(line, f"from {base.__module__} import {_name_of(base)} as {cls.__qualname__}\n")
    script = script.replace(repr(f"{cls.__module__}.{cls.__qualname__}"), repr(f"{base.__module__}.{_name_of(base)}"))
    with suppress(ImportError, ScriptError, TimeIsOver):
        return fails(replace(violation, script=script), config)
    return False


def _is_asked(cls: type[Any], base: type[Any], method: str) -> bool:
    """Whether a method of a class, if it is one, is that of a base class, or calls it."""
    mine = getattr(cls, method, None)
    if mine is None or mine is getattr(base, method, None):
        return True
    code = getattr(inspect.unwrap(mine), "__code__", None)
    return code is not None and not {"super", base.__name__}.isdisjoint(code.co_names)

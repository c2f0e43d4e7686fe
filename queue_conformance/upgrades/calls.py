"""What another environment is asked to do; its interpreter runs this module, with the kit on its path."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from queue_conformance.config.targets import Target
from queue_conformance.config.values import UsageError
from queue_conformance.frontends.guarded import guarded
from queue_conformance.upgrades import store


def main() -> None:
    """Call the function that stands on the standard input, and write what it returns."""
    read, answer = json.load(sys.stdin), dict[str, Any]()
    try:
        answer = {"value": CALLS[read["function"]](**read["asked"])}
    except UsageError as error:
        answer = {"error": str(error)}
    Path(read["answer"]).write_text(json.dumps(answer), "utf-8")


def keep(directory: str, option: str, path: str, settings: dict[str, Any], claims: dict[str, str], within: str = "") -> list[str]:
    """Keep what a class stores; return what was not kept."""
    _refuse_others(path, within)
    with guarded(store.FILES_ONLY) as config:
        return store.keep(store.found(Target(path, option, path, settings, claims)), Path(directory), config)


def kept(directory: str, path: str, within: str = "") -> list[tuple[str, str, str]]:
    """Ask for what was kept; return how it was left, the outcome, and what there is to say of it."""
    _refuse_others(path, within)
    with guarded(store.FILES_ONLY) as config:
        return [(part.how, part.outcome.name, part.detail) for part in store.read(Path(directory), config)]


def _refuse_others(path: str, within: str) -> None:
    """Refuse a class that is not of the checkout.

    Raises:
        UsageError: if its package comes from elsewhere.
    """
    name = path.partition(".")[0]
    spec = find_spec(name) if within else None
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
    found = next((place for place in places if place), None)
    if found and not Path(found).is_relative_to(within):
        raise UsageError(f"{name} is not in that commit; it would come from {found}")


CALLS: Mapping[str, Callable[..., Any]] = {"keep": keep, "kept": kept}
"""What can be called, by name."""

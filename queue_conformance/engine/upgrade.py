"""The check of what earlier versions of a class have stored, which is one for all kinds that can be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from queue_conformance.engine.blocks import subtest
from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.kept import Kept
from queue_conformance.engine.kept_outcome import KEPT
from queue_conformance.engine.kept_store import Became, Part, as_written, became_of, parts_of
from queue_conformance.engine.registry import kinds_at
from queue_conformance.specification.settings import source_of_settings

K = TypeVar("K", bound=type[Kept])

SAFE, WHOLE = "upgrade.no-silent-loss", "upgrade.recovers-all"


@fixture
def read_kept(case: Case) -> Callable[[Part], Became]:
    """``found = read_kept(part)``: let the class read a copy of a part of a kept store."""
    context, record = case.context, case.record

    def read(part: Part) -> Became:
        store = part.store
        built = {} if as_written(store.kind) else context.implementation.settings
        arguments = [context.driver.class_name, repr(store.told), repr(part.how), *([source_of_settings(built)] if built else [])]
        source = f"read_kept({', '.join(arguments)})"
        copy = Path(context.driver.directory, "kept")
        read_it = partial(became_of, part, context.implementation, copy, context.watchdog.go_on)
        found: Became = record.make(source, case.rule, read_it, "found")
        return found

    return read


def parts(context: CheckContext) -> Iterator[Part]:
    """Yield the parts of the stores that earlier versions of the class have kept."""
    yield from parts_of(context.implementation.kept)


def what_an_earlier_version_stored_is_recovered_or_refused(read_kept, note, part):  # type: ignore[no-untyped-def]
    found = read_kept(part)
    note(f"{KEPT} {part.origin}", f"{part.how}: {found}")
    assert found.harm == "", "what was stored, or an error that says why not"
    with subtest(WHOLE):
        assert found.refusal == "", "what was stored"


def asks_later_versions(kept: K) -> K:
    """Ask all classes of the kind whose own folder this stands in for what was kept: a decorator of its ``Kept``."""
    kinds = [kind for kind in kinds_at(kept.__module__) if kept.__module__.startswith(f"{kind.folders[0]}.")]
    check(SAFE, WHOLE, kinds=kinds, part=[parts])(what_an_earlier_version_stored_is_recovered_or_refused)
    return kept

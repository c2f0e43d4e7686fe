"""Who speaks of crashes, and does not claim to be safe against them, is told of the claim."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queue_conformance.engine.crash import Sweep

_PROMISES = re.compile(r"crash|durab|recover|surviv|sigkill", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:cannot|never|no|not)\b|n't\b", re.IGNORECASE)
_ENDS = re.compile(r"[.;:!?]\s|\n\s*\n")


def suggested_claim(sweep: Sweep) -> Iterator[str]:
    """Yield a line for the author of a class that speaks of crashes, and is not claimed to be safe against them."""
    cls = sweep.context.implementation.cls
    if "crash-safe" in sweep.context.implementation.claims:
        return
    texts: dict[str, Callable[[], str]] = {
        "name": lambda: cls.__name__,
        "docstring": lambda: str(cls.__dict__.get("__doc__") or ""),
        "module": lambda: str(getattr(sys.modules.get(cls.__module__), "__doc__", None) or ""),
        "README": lambda: affirmed(readme_of(cls)),
    }
    if found := next((where for where, text in texts.items() if _PROMISES.search(text())), ""):
        yield f"its {found} speaks of crashes: claim crash-safe, and all that a kill may cost is tested"


def affirmed(text: str) -> str:
    """Return the sentences of a text that deny nothing: a README says what there is not, too."""
    return "\n".join(sentence for sentence in _ENDS.split(text) if not _DENIES.search(sentence))


def readme_of(cls: type[Any]) -> str:
    """Return the README of the project of a class, or ``""``: the file beside its package, or what was installed with it."""
    module = sys.modules.get(cls.__module__)
    if file := getattr(module, "__file__", None):
        place = Path(file).resolve().parents[cls.__module__.count(".") + hasattr(module, "__path__")]
        project = place.parent if place.name == "src" else place
        for path in sorted(project.glob("README*")):
            with suppress(OSError):
                return path.read_text("utf-8", errors="replace")
    with suppress(metadata.PackageNotFoundError):
        found = metadata.metadata(cls.__module__.partition(".")[0])
        return str(found.get("Description") or found.get_payload() or "")  # type: ignore[attr-defined]
    return ""

"""Generated values: Hypothesis draws them by settings of the kit's own, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings


def our_settings(examples: int) -> settings:
    """Return settings of Hypothesis that nothing in the author's profiles changes."""
    return settings(
        max_examples=examples,
        backend="hypothesis",
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        print_blob=False,
        report_multiple_bugs=True,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )


@contextmanager
def repeatable() -> Iterator[None]:
    """Let Hypothesis draw the same for the same seed, whatever else is imported, and however busy the machine is.

    It mixes the constants of all modules that are not installed, such as the author's, into what it draws: without this,
    a new module would change what a seed draws. And it stops drawing, and shrinking, after so many seconds: here its
    clock stands still, and whoever draws counts. There are no settings for these; a release of Hypothesis that does them
    in another way, or not yet, is left alone.
    """
    with pytest.MonkeyPatch.context() as patched:
        with suppress(ImportError, AttributeError):
            patched.setattr("hypothesis.internal.conjecture.engine.time", _STOPPED)
        with suppress(ImportError, AttributeError):
            providers = import_module("hypothesis.internal.conjecture.providers")
            nothing, cache = type(providers._local_constants)(), type(providers.CONSTANTS_CACHE)(1024)
            patched.setattr(providers, "_get_local_constants", lambda: nothing)
            patched.setattr(providers, "CONSTANTS_CACHE", cache)
        yield


_STOPPED = SimpleNamespace(monotonic=lambda: 0.0, perf_counter=lambda: 0.0)

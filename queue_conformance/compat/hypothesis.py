"""What Hypothesis has no settings for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import SimpleNamespace

import pytest

DIGEST = "_hypothesis_internal_add_digest"
"""The attribute of a test, or of a state machine, whose bytes tell its examples from those of others of the same source."""


@contextmanager
def repeatable() -> Iterator[None]:
    """Let Hypothesis draw the same for the same seed, whatever else is imported, and however busy the machine is.

    It mixes the constants of all modules that are not installed, such as the author's, into what it draws: without this,
    a new module would change what a seed draws. And it stops drawing, and shrinking, after so many seconds: here its
    clock stands still, and whoever draws counts. A release of Hypothesis that does them in another way, or not yet, is left
    alone. From Python 3.14 on, it warns that its own source of chance may go, because it does not see who holds what is frozen
    (``gc.freeze``): an author's filter that makes errors of warnings would make one of that.
    """
    with pytest.MonkeyPatch.context() as patched, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "It looks like `register_random`")
        with suppress(ImportError, AttributeError):
            patched.setattr("hypothesis.internal.conjecture.engine.time", _STOPPED)
        with suppress(ImportError, AttributeError):
            providers = import_module("hypothesis.internal.conjecture.providers")
            nothing, cache = type(providers._local_constants)(), type(providers.CONSTANTS_CACHE)(1024)
            patched.setattr(providers, "_get_local_constants", lambda: nothing)
            patched.setattr(providers, "CONSTANTS_CACHE", cache)
        yield


_STOPPED = SimpleNamespace(monotonic=lambda: 0.0, perf_counter=lambda: 0.0)

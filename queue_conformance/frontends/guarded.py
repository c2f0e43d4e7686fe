"""What a command needs that runs classes outside of a run of pytest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from queue_conformance.config.values import UsageError
from queue_conformance.faults.servers import ServerError
from queue_conformance.frontends.scratch import Scratch
from queue_conformance.guard import Guard
from queue_conformance.guard.limits import LENDING
from queue_conformance.implementation.loading import LoadError
from queue_conformance.running.contexts import RunConfig


@contextmanager
def guarded(instead: str = r"\g<0>") -> Iterator[RunConfig]:
    """Give what runs classes in guarded processes, with a scratch directory that is removed in the end.

    Args:
        instead: what the command says of servers, if none can be lent to it.

    Raises:
        UsageError: if a class cannot be run inside; the message is one line.
    """
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)  # the author's package need not be installed
    scratch = Scratch()
    try:
        yield RunConfig(scratch.path, guard=Guard(scratch.path, ()))
    except (LoadError, ServerError) as error:
        said = str(error).partition(", or allow it")[0]  # these commands allow nothing
        raise UsageError(LENDING.sub(instead, said)) from error
    finally:
        scratch.remove()

"""Downstream queues that fail for a while; scripts let them fail with ``mock.patch`` where that does the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.writing import INDENT, Block
from queue_conformance.kinds.priority_queue.script_support import Store, disturbed


class Disturbance(Block):
    """Meanwhile, the next calls of an operation of the downstream queues raise, or a pop returns ``None``.

    Args:
        operation: the name of the method.
        faults: what the calls raise, one after the other; ``None`` lets a pop return ``None`` while there is something.
        sources: the faults, as they are written.
    """

    def __init__(self, recorder: Recorder, store: Store, operation: str, *faults: Any, sources: str) -> None:
        self._recorder = recorder
        self._store = store
        self._operation = operation
        self._faults = faults
        self._sources = sources
        self._calls = 0
        self._waiting: list[Any] = list(faults)
        self._stack = ExitStack()

    @property
    def _is_patch(self) -> bool:
        """Whether all calls got the same fault, or there was none, so that a patch does the same.

        A right class closes further queues where a wrong one stops: what a patch would fail, too.
        """
        hit = len(self._faults) - len(self._waiting)
        return self._operation != "close" and self._calls == hit and len({*self._faults}) == 1

    @property
    def _patched(self) -> list[str]:
        """What is patched: also the class that was not used, if another priority queue may use it in its place."""
        start = self._store.start
        started = start and (self._operation == "__init__" or any(isinstance(each, start) for each in self._store.built))
        return ["normal", "start"] if started else ["normal"]

    @property
    def was_hit(self) -> str:
        """An expression of scripts that says whether a call got a fault; nothing if that is so."""
        if not self._is_patch:
            return "not waiting"
        hit = " or ".join(f"{self._mock(name)}.called" for name in self._patched)
        return "" if self._calls else f"({hit})" if len(self._patched) > 1 else hit

    @property
    def _head(self) -> str:
        """The first line of the block."""
        if not self._is_patch:
            return f"with disturbed(store, {self._operation!r}, {self._sources}) as waiting:"
        fault = "return_value=None" if self._faults[0] is None else f"side_effect={self._sources.split(', ')[0]}"
        patches = (
            f"mock.patch.object(store.{name}, {self._operation!r}, {fault}){'' if self._calls else f' as {self._mock(name)}'}"
            for name in self._patched
        )
        return f"with {', '.join(patches)}:"

    def _mock(self, name: str) -> str:
        """Return how scripts call what replaces the method of one of the classes."""
        return self._operation if name == "normal" else f"{name}_{self._operation}"

    def __enter__(self) -> list[Any]:
        self._stack.enter_context(self._recorder.block(self._head))
        self._step = self._recorder.steps[-1]
        self._indentation = self._step.source.removesuffix(self._head)
        self._waiting = self._stack.enter_context(disturbed(self._store, self._operation, *self._faults))
        for cls in filter(None, (self._store.normal, self._store.start)):
            counted = self._counted(getattr(cls, self._operation))
            self._stack.enter_context(mock.patch.object(cls, self._operation, counted))
        return self._waiting

    def __exit__(self, *raised: Any) -> None:
        self._stack.__exit__(*raised)

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that counts its calls, after each of which the block may have to begin otherwise."""

        def call(*arguments: Any) -> Any:
            self._calls += 1
            try:
                return method(*arguments)
            finally:
                self._step.source = self._indentation + self._head

        return call

    def written(self, body: str, named: bool) -> str:
        return "\n".join([self._head, *(INDENT + line for line in body.splitlines())])

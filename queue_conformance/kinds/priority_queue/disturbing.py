"""Downstream queues that fail for a while, and how scripts say so: with the standard library, where that does the same."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.writing import INDENT, Block
from queue_conformance.kinds.priority_queue.script_support import Store, disturbed


class Disturbance(Block):
    """Meanwhile, the next calls of an operation of the downstream queues raise, or a pop returns ``None``.

    Args:
        recorder: keeps the operations.
        store: of the downstream queues.
        operation: the name of the method.
        faults: what the calls raise; ``None`` lets a pop return ``None`` while there is something.
        sources: the faults, as they are written.
    """

    def __init__(self, recorder: Recorder, store: Store, operation: str, *faults: Any, sources: str) -> None:
        self._recorder = recorder
        self._store = store
        self._operation = operation
        self._faults = faults
        self._sources = sources
        self._called: list[str] = []
        self._waiting: list[Any] = list(faults)
        self._stack = ExitStack()

    @property
    def is_patch(self) -> bool:
        """Whether all calls got the same fault, or there was none, so that a patch does the same."""
        hit = len(self._faults) - len(self._waiting)
        return len(self._called) == hit and len({*self._faults}) == 1

    @property
    def _patched(self) -> list[str]:
        """The classes that a patch is of: those of which another priority queue may use one, where this one used another."""
        start = self._store.start
        started = start and (self._operation == "__init__" or any(isinstance(each, start) for each in self._store.built))
        return ["normal", "start"] if started else ["normal"]

    @property
    def was_hit(self) -> str:
        """An expression of scripts that says whether a call got a fault; nothing if that is so."""
        if not self.is_patch:
            return "not waiting"
        hit = " or ".join(f"{self._mock(name)}.called" for name in self._patched)
        return "" if self._called else f"({hit})" if len(self._patched) > 1 else hit

    @property
    def head(self) -> str:
        """The first line of the block."""
        if not self.is_patch:
            return f"with disturbed(store, {self._operation!r}, {self._sources}) as waiting:"
        fault = "return_value=None" if self._faults[0] is None else f"side_effect={self._sources.split(', ')[0]}"
        patches = (
            f"mock.patch.object(store.{name}, {self._operation!r}, {fault}){'' if self._called else f' as {self._mock(name)}'}"
            for name in self._patched
        )
        return f"with {', '.join(patches)}:"

    def _mock(self, name: str) -> str:
        """Return how scripts call what replaces the method of one of the classes."""
        return self._operation if name == "normal" else f"{name}_{self._operation}"

    def __enter__(self) -> list[Any]:
        self._stack.enter_context(self._recorder.block(self.head))
        self._step = self._recorder.steps[-1]
        self._indentation = self._step.source.removesuffix(self.head)
        self._waiting = self._stack.enter_context(disturbed(self._store, self._operation, *self._faults))
        for name in ("normal", "start"):
            if cls := getattr(self._store, name):
                self._note_calls(cls, name)
        return self._waiting

    def __exit__(self, *raised: Any) -> None:
        self._stack.__exit__(*raised)

    def _note_calls(self, cls: type, name: str) -> None:
        usual = getattr(cls, self._operation)

        def call(*arguments: Any) -> Any:
            self._called.append(name)
            try:
                return usual(*arguments)
            finally:
                self._step.source = self._indentation + self.head

        setattr(cls, self._operation, call)
        self._stack.callback(setattr, cls, self._operation, usual)

    def written(self, body: str, named: bool) -> str:
        """Return the block as it stands in a script."""
        return "\n".join([self.head, *(INDENT + line for line in body.splitlines())])

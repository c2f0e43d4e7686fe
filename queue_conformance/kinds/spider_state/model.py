"""The model of what is kept of the state of a spider: what was saved last, and what the spider has now."""

from __future__ import annotations

import copy
from typing import Any


class StateModel:
    """What the state is, and will be in the next run.

    Attributes:
        current: the state of the run in progress.
        saved: what the last clean close saved.
        poisoned: whether the current state holds something that cannot be saved.
    """

    def __init__(self) -> None:
        self.current: dict[str, Any] = {}
        self.saved: dict[str, Any] = {}
        self.poisoned = False

    def put(self, name: str, value: Any) -> None:
        """Note that a callback set a value."""
        self.current[name] = value

    def grow(self, name: str, value: Any) -> None:
        """Note that a callback appended to a list in place."""
        self.current.setdefault(name, []).append(value)

    def close(self) -> None:
        """Note that the run ended cleanly; where the save fails, what was saved before stays."""
        if not self.poisoned:
            self.saved = copy.deepcopy(self.current)
        self.poisoned = False

    def open(self) -> None:
        """Note that another run began."""
        self.current = copy.deepcopy(self.saved)

    def damaged(self) -> None:
        """Note that the file became unreadable: the next run begins with nothing."""
        self.saved = {}

    def adopt(self, state: dict[str, Any]) -> None:
        """Note that a run began with something else than expected, which is right too."""
        self.saved, self.current = copy.deepcopy(state), copy.deepcopy(state)

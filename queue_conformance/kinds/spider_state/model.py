"""The model of what is kept of the state of a spider: what was saved last, and what the spider has now."""

from __future__ import annotations

import copy
from typing import Any


class StateModel:
    """A spider whose state is kept.

    Attributes:
        state: the state of the run in progress.
        saved: what the last clean close saved.
        unpicklable: whether the state holds something that cannot be saved.
    """

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.saved: dict[str, Any] = {}
        self.unpicklable = False

    def close(self) -> None:
        """Note that the run ended cleanly; where the save fails, what was saved before stays."""
        if not self.unpicklable:
            self.saved = copy.deepcopy(self.state)
        self.unpicklable = False

    def open(self) -> None:
        """Note that another run began."""
        self.state = copy.deepcopy(self.saved)

    def damaged(self) -> None:
        """Note that the file became unreadable: the next run begins with nothing."""
        self.saved = {}

    def adopt(self, state: dict[str, Any]) -> None:
        """Note that a run began with something else than expected, which is right too."""
        self.saved, self.state = copy.deepcopy(state), copy.deepcopy(state)

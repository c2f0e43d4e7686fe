"""What several mutants make of a refusal."""

from __future__ import annotations

from typing import Any, ClassVar


class TellsAgain:
    """Raises once more, when it is closed, what a push was refused with."""

    refusals: ClassVar[type[Exception]]
    _error: Exception | None = None

    def push(self, item: Any) -> None:
        try:
            super().push(item)  # type: ignore[misc]
        except self.refusals as error:
            self._error = error
            raise

    def close(self) -> None:
        super().close()  # type: ignore[misc]
        error, self._error = self._error, None
        if error:
            raise error

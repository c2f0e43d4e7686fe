"""Which error of ``push`` leads to which fallback: what each profile calls transient, and what Scrapy really does."""

from __future__ import annotations

from types import new_class

from queue_conformance.engine.blocks import MayRefuse
from queue_conformance.engine.case import Case
from queue_conformance.engine.context import CheckContext
from queue_conformance.errors import SerializationError, TransientError
from queue_conformance.kinds.queue.kind import DOWNSTREAM_QUEUE
from queue_conformance.specification.applicability import installed_releases
from queue_conformance.specification.kinds import EXTERNAL_QUEUE

Errors = tuple[type[BaseException], ...]

TRANSIENT = "TransientError, such as queue_conformance.errors.TransientError"
"""What a push raises for a temporary reason, in words."""


class _ByName(type):
    """The type of classes whose instances are the exceptions that have a class of the same name among their bases."""

    def __instancecheck__(cls, error: object) -> bool:
        return any(base.__name__ == cls.__name__ for base in type(error).__mro__)


def _by_name(context: CheckContext, documented: type[Exception], claim: str) -> Errors:
    """Return the class of a documented error and the one that the author claims, by name: the interface gives no module."""
    classes = (documented, context.implementation.errors.get(claim))
    return tuple(new_class(cls.__name__, (Exception,), {"metaclass": _ByName}) for cls in classes if cls)


def transient_errors(context: CheckContext) -> Errors:
    """Return the classes that count as the transient error."""
    return _by_name(context, TransientError, "transient-error")


def serialization_errors(context: CheckContext) -> Errors:
    """Return the classes that count as the serialization error.

    Sources differ: ``SerializationError`` in the documented interface, ``ValueError`` in its earlier text and in every
    release. The kit's ``SerializationError`` is both.
    """
    if context.implementation.profile is not EXTERNAL_QUEUE:
        return (ValueError,)
    return (ValueError, *_by_name(context, SerializationError, "serialization-error"))


def names_of(errors: Errors) -> tuple[str, ...]:
    """Return the names of classes of exceptions."""
    return tuple(error.__name__ for error in errors)


def consequence(context: CheckContext, error: BaseException) -> str:
    """Return what the installed Scrapy does with an exception of ``push``, as a clause; ``""`` where there is no Scrapy."""
    if context.implementation.kind is not DOWNSTREAM_QUEUE:
        return ""
    scrapy = f"Scrapy {installed_releases().get('scrapy', '')}".rstrip()
    if isinstance(error, ValueError):
        return f" ({scrapy} falls back to memory)"
    return f" ({scrapy} loses the request, or stops the crawl if it is a start request)"


class PushMayRaise(MayRefuse):
    """``with push_may_raise("transient") as refused, fault``: the push inside returns, or raises that error and no other.

    Others are ``"serialization"``, ``"permanent"``, for which nobody falls back to memory, and ``"anything"``.
    """

    def __init__(self, error: str, rule: str = "", expected: str = "") -> None:
        super().__init__(rule, expected=expected)
        self._error = error

    def bind(self, case: Case) -> None:
        super().bind(case)
        transient, serialization = names_of(transient_errors(case.context)), names_of(serialization_errors(case.context))
        match self._error:
            case "transient":
                self.only, self.expected = transient, self.expected or TRANSIENT
            case "serialization":
                self.only, self.expected = serialization, self.expected or " or ".join(serialization)
            case "permanent":
                self.never = (*serialization, *transient)
                self.expected = self.expected or "an error for which nobody falls back"

    def consequence(self, error: Exception) -> str:
        return "" if self._case.rule in self._case.context.failed else consequence(self._case.context, error)


push_may_raise = PushMayRaise

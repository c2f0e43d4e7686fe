"""Which error of ``push`` leads to which fallback: what each profile calls transient, and what Scrapy really does."""

from __future__ import annotations

from queue_conformance.engine.context import CheckContext
from queue_conformance.errors import SerializationError, TransientError
from queue_conformance.kinds.queue.kind import DOWNSTREAM_QUEUE
from queue_conformance.specification.applicability import installed_releases
from queue_conformance.specification.kinds import EXTERNAL_QUEUE

TRANSIENT = "TransientError, such as queue_conformance.errors.TransientError"
"""What a push raises for a temporary reason, in words."""


def transient_names(context: CheckContext) -> tuple[str, ...]:
    """Return the names of the classes that count as the transient error.

    The interface names the class and no module for it, so any class of that name counts, and the one that the author claims.
    """
    claimed = context.implementation.errors.get("transient-error")
    return (TransientError.__name__, *([claimed.__name__] if claimed else []))


def is_transient(context: CheckContext, error: BaseException) -> bool:
    """Whether an exception is the transient error, or derived from it."""
    return any(cls.__name__ in transient_names(context) for cls in type(error).__mro__)


class _ByName(type):
    """The type of classes whose instances are the exceptions that have a class of the same name among their bases."""

    def __instancecheck__(cls, error: object) -> bool:
        return any(base.__name__ == cls.__name__ for base in type(error).__mro__)


_NAMED = _ByName(SerializationError.__name__, (Exception,), {})


def serialization_errors(context: CheckContext) -> tuple[type[BaseException], ...]:
    """Return the classes that count as the serialization error.

    Sources differ: ``SerializationError`` in the documented interface, ``ValueError`` in its earlier text and in every
    release. The kit's ``SerializationError`` is both. As for the transient error, the interface names the class and no module
    for it, so any class of that name counts.
    """
    if context.implementation.profile is not EXTERNAL_QUEUE:
        return (ValueError,)
    claimed = context.implementation.errors.get("serialization-error")
    return (ValueError, _NAMED, *([claimed] if claimed else []))


def serialization_names(context: CheckContext) -> tuple[str, ...]:
    """Return the names of the classes that count as the serialization error."""
    return tuple(error.__name__ for error in serialization_errors(context))


def fallback_names(context: CheckContext) -> tuple[str, ...]:
    """Return the names of the classes for which the documented scheduler falls back to memory."""
    return (*serialization_names(context), *transient_names(context))


def consequence(context: CheckContext, error: BaseException) -> str:
    """Return what the installed Scrapy does with an exception of ``push``, as a clause; ``""`` where there is no Scrapy."""
    if context.implementation.kind is not DOWNSTREAM_QUEUE:
        return ""
    scrapy = f"Scrapy {installed_releases().get('scrapy', '')}".rstrip()
    if isinstance(error, ValueError):
        return f" ({scrapy} falls back to memory)"
    return f" ({scrapy} loses the request, or stops the crawl if it is a start request)"

"""What the signature of a class or a function says of how it can be called."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from queue_conformance.specification.settings import PORT, Text

FACTORY_ARGUMENTS = ("cls", "crawler", "key")
"""What an author's function that builds a queue may ask for by name."""

_PATH_NAMES = ("path", "directory", "dir", "dirname", "file", "filename", "key")


_VARIOUS = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function by name, of a constructor that passes on whatever it gets those of the next one.

    There are none where it does not tell them.
    """
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    if inspect.isclass(function) and {one.kind for one in found.values()} == _VARIOUS:
        for base in function.__mro__[1:-1]:
            if not {"__init__", "__new__"}.isdisjoint(vars(base)):
                return parameters(base)
    return found


def required(function: Any) -> list[str]:
    """Return the names of the parameters of a function that have no default."""
    return [name for name, found in parameters(function).items() if found.default is found.empty and found.kind not in _VARIOUS]


def methods_of(cls: type[Any], *names: str) -> list[str]:
    """Return those of the names that are methods of a class, or descriptors that may give its objects one, as a property does."""
    return [name for name in names if _is_method(getattr(cls, name, None))]


def _is_method(value: Any) -> bool:
    return callable(value) or hasattr(type(value), "__get__")


def takes_key(cls: type[Any]) -> bool:
    """Whether a class can be built as Scrapy builds queues: from a crawler and a key, or from a key alone."""
    try:
        if hasattr(cls, "from_crawler"):
            inspect.signature(cls.from_crawler).bind(None, "key")
        else:
            inspect.signature(cls).bind("key")
    except (TypeError, ValueError):
        return False
    return True


def may_lack_all(cls: type[Any]) -> bool:
    """Whether a constructor has parameters, and says of each that it may be ``None``, which is its default."""
    found = parameters(cls)
    return bool(found) and all(parameter.default is None for parameter in found.values())


def takes_path(cls: type[Any]) -> bool:
    """Whether the constructor of a byte queue takes a path: its first parameter is required, or named like one."""
    for parameter in parameters(cls).values():
        required = parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
        return (required and parameter.kind is not parameter.VAR_KEYWORD) or parameter.name in _PATH_NAMES
    return False


def takes_place(builder: Callable[..., Any]) -> bool:
    """Whether what builds byte queues takes a path: the author's function asks for its key, or a class for a place of its own."""
    return takes_path(builder) if inspect.isclass(builder) else "key" in parameters(builder)


def requires_key(push: Any) -> bool:
    """Whether ``push`` (as a function of the class, with self) requires a second argument."""
    found = list(parameters(push).values())[2:]
    return bool(found) and found[0].default is inspect.Parameter.empty


def keywords(builder: Callable[..., Any], *, positional: bool = True) -> tuple[list[str], bool]:
    """Return the names that a constructor accepts besides the path, and whether it accepts any name.

    Args:
        builder: the class, or the author's function that builds it.
        positional: whether a first argument that is required is the path, whatever its name.
    """
    found = list(parameters(builder).values())
    if inspect.isclass(builder):
        path = takes_path(builder) and (positional or found[0].name in _PATH_NAMES)
        found = found[1 if path else 0 :]
    else:
        found = [parameter for parameter in found if parameter.name not in FACTORY_ARGUMENTS]
    named = [p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return named, any(p.kind is p.VAR_KEYWORD for p in found)


def as_arguments(cls: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a constructor that settings name: a text stands for the literal that it is, if it is one."""
    values = {name: _literal(value) if type(value) is str else value for name, value in settings.items()}
    annotated = {name: parameter.annotation for name, parameter in parameters(cls).items()}
    return values | {name: Text(PORT) for name, value in values.items() if value == PORT and annotated.get(name) in (str, "str")}


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text

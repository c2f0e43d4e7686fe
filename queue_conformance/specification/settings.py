"""The values of settings: their types, and the words in braces that stand for the address of a server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PLACES = ("host", "port", "password")
"""What settings name in braces."""

PORT = "{port}"
"""What stands for the port of a server; alone it is a number."""


class Text(str):
    """A text that stays one, although it reads like a number: it was given as text, and not on the command line."""

    __slots__ = ()


def filled(value: Any, places: Mapping[str, str]) -> Any:
    """Return a value, and those in a list or a table, with what stands for the words in braces filled in.

    Args:
        places: that, by the words with their braces.
    """
    if isinstance(value, list):
        return [filled(one, places) for one in value]
    if isinstance(value, dict):
        return {name: filled(one, places) for name, one in value.items()}
    if not isinstance(value, str):
        return value
    if type(value) is str and value == PORT and value in places:
        return int(places[value])
    value = str(value)  # a class gets no text of the kit's own
    for place, text in places.items():
        value = value.replace(place, text)
    return value


def words_in(value: Any) -> list[str]:
    """Return the words in braces in a value, and in those of a list or a table."""
    if isinstance(value, (list, dict)):
        return [word for one in _parts(value) for word in words_in(one)]
    return re.findall(r"\{([A-Za-z_]\w*)\}", value) if isinstance(value, str) else []


def means_address(value: Any, *, served: bool) -> bool:
    """Whether words in braces stand for the address of a server, and not for something that only the class knows.

    Args:
        served: whether a server is named.
    """
    if isinstance(value, (list, dict)):
        return any(means_address(one, served=served) for one in _parts(value))
    words = words_in(value)
    alone = len(words) == 1 and value == f"{{{words[0]}}}" and words[0] in _OF_ADDRESSES
    return alone or "port" in words or "password" in words or (served and "host" in words)


def _parts(value: list[Any] | dict[str, Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


_OF_ADDRESSES = ("host", "user", "username", "database", "dbname", "db", "url", "address", "hostname", "passwd", "pass")
"""Words that stand for a part of an address, here or elsewhere."""

AS_WRITTEN = "passed as written:"
"""How the notes begin on words in braces that the class gets as they are."""


def source_of_settings(settings: Mapping[str, object]) -> str:
    """Return settings as a dictionary in Python, with what ``backend`` has for ``{host}``, ``{port}`` and ``{password}``."""
    return f"{{{', '.join(f'{name!r}: {source_of_setting(value)}' for name, value in settings.items())}}}"


def source_of_setting(value: object) -> str:
    """Return the value of a setting in Python; see :func:`source_of_settings`."""
    if isinstance(value, list):
        return f"[{', '.join(map(source_of_setting, value))}]"
    if isinstance(value, dict):
        return source_of_settings(value)
    text = repr(value)
    if not isinstance(value, str) or not any(f"{{{place}}}" in value for place in PLACES):
        return text
    if type(value) is str and value == PORT:
        return "backend.port"
    escaped = text.replace("{", "{{").replace("}", "}}")
    for place in PLACES:
        escaped = escaped.replace(f"{{{{{place}}}}}", f"{{backend.{place}}}")
    return f"f{escaped}"

"""The values of options, from the text, TOML or Python that was given for them."""

from __future__ import annotations

import json
import os
import tempfile
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class UsageError(ValueError):
    """An option is wrong; the message is one line that says what to write."""


class NothingToTest(UsageError):
    """No class is named."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of the command line.

    Attributes:
        name: without the dashes; the same in pyproject.toml.
        help: one sentence.
        metavar: what the value is called, or ``""`` for a switch.
        repeats: whether it may be given more than once.
        convert: turns the text into a value, or raises ``ValueError``.
        default: what it is when nobody says anything.
        typed: whether the values of a table keep their types.
    """

    name: str
    help: str
    metavar: str = ""
    repeats: bool = False
    convert: Callable[[str], Any] = str
    default: Any = None
    typed: bool = False


def converted(option: Option, given: Any, where: str) -> Any:
    """Return the value of an option.

    Args:
        given: the text, or the value of TOML or Python, that was given; ``None`` for the default.
        where: where it was given, for messages.

    Raises:
        UsageError: if it stands for no value of the option.
    """
    if not option.metavar:
        return switch(given, where)
    if given is None:
        return [] if option.repeats else option.default
    try:
        if isinstance(given, bool):
            raise ValueError("write a value")
        if option.repeats and isinstance(given, Mapping):
            if option.typed:
                return [(str(name), typed(name, value)) for name, value in given.items()]
            given = [f"{name}={said_as_text(name, value)}" for name, value in given.items()]
        if option.repeats and not isinstance(given, Iterable):
            raise ValueError("write a list")
    except ValueError as error:
        raise UsageError(f"{where}: {error}, not {_hidden(given)!r}") from error
    if option.repeats and not isinstance(given, str):
        return [_one(option, value, where) for value in given]
    found = _one(option, given, where)
    return [found] if option.repeats else found


def _one(option: Option, given: object, where: str) -> Any:
    """Return what an option, or one of the values of one that repeats, stands for; see :func:`converted`."""
    try:
        return option.convert(str(given))
    except UsageError as error:  # what is given is right, and something else is not
        raise UsageError(f"{where}: {error}") from error
    except ValueError as error:
        raise UsageError(f"{where}: {error}, not {_hidden(given)!r}") from error


def argument(convert: Callable[[str], T]) -> Callable[[str], T]:
    """Return a converter as ``argparse`` wants it, so that its messages are those of pytest's options."""

    def read(text: str) -> T:
        try:
            return convert(text)
        except UsageError as error:
            raise ArgumentTypeError(str(error)) from error
        except ValueError as error:
            raise ArgumentTypeError(f"{error}, not {text!r}") from error

    return read


def switch(given: object, where: str) -> bool:
    """Return what a switch is set to; any value but a boolean is refused, because ``"false"`` would switch it on.

    Raises:
        UsageError: if it is no boolean.
    """
    if given is None or isinstance(given, bool):
        return bool(given)
    raise UsageError(f"{where}: write true or false, and no other value, not {given!r}")


def said_as_text(name: str, value: Any) -> str:
    """Return a value of TOML or Python as the command line would say it; Scrapy reads lists and tables as JSON.

    Raises:
        ValueError: if it cannot be said there.
    """
    if isinstance(value, type):
        from queue_conformance.implementation.loading import leads_to, path_of

        if not leads_to(path := path_of(value), value):
            raise ValueError(f"write the dotted path of a class that can be imported for {name}")
        return path
    if value is None or callable(value):
        raise ValueError(f"write text, a number, a list or a table for {name}")
    if isinstance(value, (list, tuple, dict)):
        try:
            return json.dumps(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"write text, a number, or a list or a table of these for {name}") from error
    return str(value)


def typed(name: str, value: Any) -> Any:
    """Return the value of a setting that TOML or Python gives: text, a number, a list or a table of these, as it is.

    Raises:
        ValueError: if it is something else.
    """
    from queue_conformance.specification.settings import PORT, Text

    if isinstance(value, str):
        return value if value == PORT else Text(value)
    if isinstance(value, (bool, int, float)):
        return value
    return json.loads(said) if (said := said_as_text(name, value))[:1] in ("[", "{") else said


def _hidden(given: Any) -> Any:
    """Return what was given without what looks like a secret, for messages."""
    import re

    from queue_conformance.secrets import HIDDEN, Secrets
    from queue_conformance.secrets.values import is_secret

    if isinstance(given, Mapping):
        return Secrets(given).settings({str(name): value for name, value in given.items()})
    if not isinstance(given, str):
        return given
    name, sign, _ = re.match(r"([\w.-]*)(\W*)(.*)", given, re.DOTALL).groups()  # type: ignore[union-attr]
    if sign and (is_secret(name) or sign.startswith("=")):
        return f"{name}{sign}{HIDDEN}"
    return Secrets().text(given)


def settings_of(given: Iterable[str | tuple[str, Any]], where: str) -> dict[str, Any]:
    """Read settings of the form ``NAME=VALUE``, whose value is text, or ``NAME:=VALUE``, whose value is JSON.

    Args:
        given: these, or pairs of a name and a value.

    Raises:
        UsageError: if one has another form.
    """
    settings: dict[str, Any] = {}
    for one in given:
        if not isinstance(one, str):
            settings[one[0]] = one[1]
            continue
        name, equals, value = one.partition("=")
        is_json = name.endswith(":")
        name = name.removesuffix(":").strip()
        if not equals or not name:
            raise UsageError(f"{where}: write NAME=VALUE, not {_hidden(one)!r}")
        settings[name] = _from_json(value, f"{where}: {name}") if is_json else value
    return settings


def _from_json(text: str, where: str) -> Any:
    """Return a number, a text, a truth value, a list or a table; ``{port}`` stands for a number.

    Raises:
        UsageError: if the text is no JSON, or null.
    """
    from queue_conformance.specification.settings import PORT, Text

    if text == PORT:
        return text
    try:
        value = json.loads(text)
        return Text(value) if isinstance(value, str) else typed("", value)
    except ValueError as error:
        raise UsageError(f'{where}: write JSON after :=, such as 10, true, "text" or [1, 2], not {_hidden(text)!r}') from error


def claims_of(texts: list[str], where: str) -> dict[str, str]:
    """Read claims of the form ``NAME`` or ``NAME=VALUE``.

    Raises:
        UsageError: if one is unknown.
    """
    if not texts:
        return {}
    from queue_conformance.implementation.capabilities import ClaimError, parse_claims
    from queue_conformance.specification.kinds import all_kinds

    try:
        return parse_claims(texts, all_kinds())
    except ClaimError as error:
        raise UsageError(f"{where}: {error}") from error


# --- What the options of each kind hold ------------------------------------------------------------------------------


def level(text: str) -> str:
    """Return the level that a text names; raise ``ValueError`` if it is none."""
    if text.upper() not in ("MUST", "SHOULD"):
        raise ValueError("write MUST or SHOULD")
    return text.upper()


def natural(text: str, least: int = 0) -> int:
    """Return the number, 0 or more, that a text names; raise ``ValueError`` if it is none."""
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"write a whole number, {least} or more")
    return int(text)


positive = partial(natural, least=1)


def amount_of(unit: str, text: str) -> float:
    """Return how many seconds, or the like, a text says.

    Raises:
        ValueError: if that is no number above 0.
    """
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise ValueError(f"write a number of {unit} above 0")
    return amount


seconds_of = partial(amount_of, "seconds")


def length_of(text: str) -> float:
    """Return the seconds of a length of time such as ``30m``.

    Raises:
        ValueError: if that is none.
    """
    try:
        return seconds_of(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1:]]
    except (ValueError, KeyError):
        raise ValueError("write a length of time such as 90s, 30m or 8h") from None


def path(text: str) -> str:
    """Return the dotted path of the class that a text names; raise ``ValueError`` if it is none."""
    from queue_conformance.implementation.loading import dotted

    return dotted(text)


def server(text: str) -> str:
    """Return the name of a server; raise ``ValueError`` if it is none, and ``UsageError`` if that server cannot be had."""
    from queue_conformance.faults.servers import ServerError, check_name

    try:
        return check_name(text)
    except ServerError as error:
        raise UsageError(str(error)) from error


def is_address(text: str) -> bool:
    """Whether a text is ``HOST:PORT``, and no path."""
    host, _, port = text.rpartition(":")
    return bool(host) and "/" not in host and port.isdecimal() and 0 < int(port) < 65536


def cluster(text: str) -> str:
    """Return the address of a scheduler of dask.distributed; raise ``ValueError`` if it is none."""
    if not is_address(text.rpartition("://")[2]):
        raise ValueError("write tcp://HOST:PORT, or tls://HOST:PORT")
    return text


def touched(text: str) -> str:
    """Return the address, or the path, that a text names; raise ``ValueError`` if it is neither."""
    numbered = ":" in text and "/" not in text and text.rpartition(":")[2].isdecimal()
    if not is_address(text) and (numbered or "://" in text or not text.strip("/.")):
        raise ValueError("write HOST:PORT, or the path of a file or a socket")
    return file(text)


def file(text: str, what: str = "file") -> str:
    """Return the name of a file, or the like; raise ``ValueError`` if it is none."""
    if not text or min(text) < " ":
        raise ValueError(f"write the name of a {what}")
    return text


directory = partial(file, what="directory")


def expect_place(option: str, name: str, path: Path, *, written: bool = True) -> None:
    """Look whether a file can be written where an option says.

    Args:
        name: what the option says.
        path: where that is.
        written: whether it will be, and is not only read.

    Raises:
        UsageError: if it cannot; what comes first may take hours.
    """
    if not os.path.isdir(path.parent):
        raise UsageError(f"{option}: there is no directory for {name!r}")
    if os.path.isdir(path):  # which raises nothing, whatever a name is
        raise UsageError(f"{option}: write the name of a file, and not of the directory {name!r}")
    if written and (why_not := _why_not_written(path)):
        raise UsageError(f"{option}: cannot write {name!r}: {why_not}")


def _why_not_written(path: Path) -> str:
    """Return why a file can neither be replaced, or made, nor be written to; it stays as it is, and so does its directory."""
    there = os.path.isfile(path)
    try:
        with suppress(FileNotFoundError):
            os.lstat(path)  # its name may be too long
        if there or not os.path.exists(path):
            with tempfile.TemporaryFile(dir=path.resolve().parent):
                pass
    except OSError as error:
        return "" if there and os.access(path, os.W_OK) else error.strerror or str(error)
    return ""


def database(text: str) -> str:
    """Return the directory, or the URL, that a text names; raise ``ValueError`` if it is none."""
    if not text or ("://" in text and not text.startswith(("redis://", "rediss://", "unix://"))):
        raise ValueError("write a directory, or redis://HOST:PORT")
    return directory(text)


def report(text: str) -> str:
    """Return the name of a report; raise ``ValueError`` if it is none."""
    from queue_conformance.reports.files import check_name

    return check_name(file(text))


AXES = {"stored": 1000, "seen": 1000, "hosts": 64, "priorities": 64, "processes": 1}
"""What there may be more and more of where classes are measured, and how much at first: crawls have requests by thousands."""

ENDINGS = (".jsonl", ".html", ".svg")
"""What files of measurements end in: lines of JSON, a page with drawings, or these alone."""


def axis(text: str) -> str:
    """Return what there is to be more and more of; raise ``ValueError`` if that cannot be measured."""
    if text not in AXES:
        raise ValueError(f"write one of {', '.join(AXES)}")
    return text


def measurements(text: str) -> str:
    """Return the name of a file of measurements; raise ``ValueError`` if it is none."""
    if not file(text).endswith(ENDINGS):
        raise ValueError(f"write the name of a file that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    return text

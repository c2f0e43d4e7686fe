"""What a class lacks around it, by what its first use raises: none of that says anything of the class."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from queue_conformance.engine.recording import describe
from queue_conformance.engine.refusals import is_accident
from queue_conformance.implementation.importing import remedy
from queue_conformance.implementation.signatures import parameters, required, takes_path
from queue_conformance.running.surroundings import refusal
from queue_conformance.specification.pairs import mismatch_behind
from queue_conformance.specification.words import listed, shortened

if TYPE_CHECKING:
    from queue_conformance.engine.driver import Driver
    from queue_conformance.environments.crawling import SettingsReader


OF_NOTHING = (ZeroDivisionError, IndexError, KeyError)
"""What is raised for a number, a list or a table that nobody set, for which Scrapy gives 0 or an empty one."""


@dataclass(frozen=True)
class Lacked:
    """What the first use of a class lacked.

    Attributes:
        line: that, in one line that says what to do, or ``""`` where nothing around the class is to blame for sure.
        unset: the settings that it read, that nobody set and that have no default, or no other one than 0 or an empty list.
        may_be_unset: whether what it raised may be due to one of these.
    """

    line: str = ""
    unset: tuple[str, ...] = ()
    may_be_unset: bool = False


def lacked(error: BaseException, driver: Driver, reader: SettingsReader | None) -> Lacked:
    """Tell what the first use of a class lacked.

    Args:
        error: what it raised.
        driver: the driver of the class.
        reader: knows what settings it read, if it has any.
    """
    errors = list(_chain(error))
    unset = tuple(reader.unset) if reader else ()
    if any(type(one).__name__ == "EngineError" for one in errors):  # Scrapy can make none, whatever the class is given
        return Lacked()
    named = [name for name in unset if any(re.search(rf"(?i)\b{re.escape(name)}\b", _said(one)) for one in errors)]
    named += [key for one in errors if isinstance(one, KeyError) for key in one.args if reader and reader.may_lack(key)]
    settings = unset or tuple(reader.off if reader else ())
    line = refusal(error) or _of_constructor(driver) or next(filter(None, (_sign(one, driver, settings) for one in errors)), "")
    if named and not line:
        line = f"it raised {describe(error, 200)}: {give(named)}"
    about_none = any("None" in _said(one) for one in errors)
    may_be_unset = about_none or isinstance(error, (AssertionError, *OF_NOTHING)) or not is_accident(error)
    return Lacked(line, (*unset, *(reader.empty if reader else ())), may_be_unset)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and those that led to it."""
    known: set[int] = set()
    while error is not None and id(error) not in known:
        known.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _said(error: BaseException) -> str:
    with suppress(Exception):  # whatever its own text does
        return str(error)
    return ""


def give(names: Iterable[str]) -> str:
    """Return how settings are given."""
    return f"give it by {' '.join(f'--queue-setting={name}=VALUE' for name in names)}"


def _of_constructor(driver: Driver) -> str:
    """Return which arguments the constructor of a queue needs that nobody gives it, in one line that says what to do, or ``""``.

    One that is built by its own ``from_crawler``, or by a function of its author's, has from these what it needs.
    """
    tested = driver.implementation
    queue = tested.kind in ("downstream-queue", "byte-queue", "async-queue")
    if not queue or tested.factory is not None or hasattr(tested.cls, "from_crawler"):
        return ""
    needed = [name for name in required(tested.cls) if name not in tested.settings]
    if tested.kind.crawled:
        if len(needed) < 2:
            return ""
        built = "test the scheduler that builds it, or build it in pytest_open_queue of a conftest.py"
        return f"its constructor needs {listed(needed)}, and Scrapy gives it one argument: {built}"
    path = next(iter(parameters(tested.cls))) if tested.kind == "byte-queue" and takes_path(tested.cls) else None
    needed = [name for name in needed if name not in (path, getattr(driver, "place", None))]
    return f"its constructor needs {listed(needed)}, which nobody gives: {give(needed)}" if needed else ""


def _sign(error: BaseException, driver: Driver, unset: tuple[str, ...]) -> str:
    """Return what an exception shows to be missing, or ``""``."""
    from scrapy.exceptions import NotConfigured

    if _of_environment(error):
        return f"it reads {error.args[0]} from the environment, which has none: set it there"
    if isinstance(error, NotConfigured):
        what = give(unset) if unset else "give it the settings that it asks for by --queue-setting"
        return f"it is not configured ({describe(error, 200)}): {what}"
    package = driver.implementation.path.partition(".")[0]
    if isinstance(error, ImportError):
        own = (error.name or "").partition(".")[0] == package
        if own and package in sys.modules:
            return ""
        return mismatch_behind(error.name or "") or f"{describe(error, 200)}: {remedy(error, package) or 'install what it needs'}"
    if isinstance(error, AttributeError) and error.name:
        return _attribute(error.obj, error.name, package, driver)
    if isinstance(error, TypeError) and (found := _ARGUMENT.search(_said(error))):
        return _argument(found[1], found[2], package, driver)
    return _of_server(_said(error)) or _of_database(_said(error), driver)


def _of_environment(error: BaseException) -> bool:
    """Whether it was raised for a variable that the environment has not."""
    *_, last = [None, *(frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__))]
    return last is type(os.environ).__getitem__.__code__


def _attribute(owner: object, name: str, package: str, driver: Driver) -> str:
    """Return who should give an object an attribute, if that is not the class, or ``""``."""
    from scrapy import Spider

    if isinstance(owner, Spider):
        return f"it reads spider.{name}, which the kit's spider has not: set it in pytest_prepare_spider of a conftest.py"
    if isinstance(owner, ModuleType) and owner.__name__.partition(".")[0] != package:
        return f"{owner.__name__} has no {name} in the release that is installed: install one that goes with the class"
    cls = owner if isinstance(owner, type) else type(owner)
    path = f"{cls.__module__}.{cls.__qualname__}"
    crawler = getattr(driver, "crawler", None)
    if crawler is not None and cls.__module__.partition(".")[0] != package:
        for setting, value in crawler.settings.items():
            if value in (path, cls):
                return f"{path}, which {setting} names, has no {name}: name another one by --queue-setting={setting}=PATH"
    return ""


_ARGUMENT = re.compile(r"^(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")


def _argument(name: str, argument: str, package: str, driver: Driver) -> str:
    """Return which setting names a class, not of the package that is tested, that does not take an argument, or ``""``."""
    crawler = getattr(driver, "crawler", None)
    for setting, value in crawler.settings.items() if crawler is not None else ():
        path = value if isinstance(value, str) else f"{value.__module__}.{name}" if isinstance(value, type) else ""
        parts = path.split(".")
        if len(parts) > 1 and parts[-1] == name and parts[0] != package:
            return f"{path}, which {setting} names, takes no {argument}: name another one by --queue-setting={setting}=PATH"
    return ""


_MODULES = {
    "BF": "RedisBloom",
    "CF": "RedisBloom",
    "CMS": "RedisBloom",
    "TOPK": "RedisBloom",
    "TDIGEST": "RedisBloom",
    "JSON": "RedisJSON",
    "FT": "RediSearch",
    "TS": "RedisTimeSeries",
}
"""The modules of Redis, by the first word of their commands."""


def _of_server(said: str) -> str:
    """Return what a server says that it lacks, in one line that says what to do, or ``""``."""
    if unknown := re.search(r"unknown command [`'\"]?([\w.]+)", said, re.IGNORECASE):
        command = unknown[1].upper()
        module = _MODULES.get(command.partition(".")[0]) if "." in command else None
        what = f"the module {module}, which knows {command}" if module else f"the command {command}"
        return f"its server has not {what}: name one that has it by --queue-server=HOST:PORT"
    if _ABSENT.search(said):
        return f"its server lacks what it needs ({shortened(said, 200)}): name one that has it by --queue-server=HOST:PORT"
    return ""


_ABSENT = re.compile(
    r"extension .{1,80} is not available|could not open extension control file"
    r"|relation \".{1,80}\" does not exist|Table '.{1,80}' doesn't exist"
)
"""What databases say that lack an extension, or a table that somebody must make."""


def _of_database(said: str, driver: Driver) -> str:
    """Return which setting names a database that does not understand the class: it may be written for another one; or ``""``."""
    for name, value in driver.implementation.settings.items() if _SYNTAX.search(said) else ():
        if _DATABASE.match(str(value)):
            what = f"the database that {name} names does not understand it ({shortened(said, 200)})"
            return f"{what}: name one that it is written for by --queue-setting={name}=URL"
    return ""


_SYNTAX = re.compile(r"near \".{1,80}\": syntax error|syntax error at or near|error in your SQL syntax")
"""What SQLite, PostgreSQL and MySQL say of a statement that they cannot read."""

_DATABASE = re.compile(r"(?:sqlite|mysql|mariadb|postgres)\w*(?:\+\w+)?://")
"""How the URL of a database begins, of which there are several kinds."""

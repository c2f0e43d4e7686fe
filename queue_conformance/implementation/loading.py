"""From a dotted path to a class, its kind and the version of its package; every mistake is one line."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from queue_conformance.implementation.importing import remedy
from queue_conformance.implementation.signatures import methods_of
from queue_conformance.specification.kinds import Kind, all_kinds
from queue_conformance.specification.suggestion import did_you_mean
from queue_conformance.specification.words import listed, shortened

NO_QCRAWL = 'qCrawl is not installed: `pip install "pytest-queue-conformance[qcrawl]"`'


class LoadError(Exception):
    """There is no class to test; the message is one line that says what is wrong and what to do."""


def dotted(text: str) -> str:
    """Return the dotted path of a class.

    Args:
        text: that, or ``package.module:Class``, or ``path/to/file.py::Class`` of a file from which modules are imported.

    Raises:
        ValueError: if there is no such file, nothing is imported from where it is, or no script could name the class.
    """
    if not text.isprintable():
        raise ValueError("write a name of characters that can be printed")
    name, separator, qualified = text.partition("::")
    if not separator or not name.endswith(".py"):
        return text.replace(":", ".")
    file = Path(name).resolve()
    if not file.is_file():
        raise ValueError("write the path of a file that is there")
    roots = [root for root in {Path(entry).resolve() for entry in ("", *sys.path)} if root in file.parents]
    if not roots:
        raise ValueError("write the path of a file below the current directory, or below one on the import path")
    inside = file.relative_to(max(roots, key=lambda root: len(root.parts))).with_suffix("")
    return ".".join([*(part for part in inside.parts if part != "__init__"), *qualified.split("::")])


def load_class(path: str) -> type[Any]:
    """Import a class.

    Args:
        path: as :func:`dotted` understands it.

    Raises:
        LoadError: if the path names no class, or importing it raises.
    """
    parts = path_of(path).split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise LoadError(f"{path!r} is not the dotted path of a class, such as my_package.queues.MyQueue")
    module, rest = _import_longest(parts)
    found: Any = module
    for depth, name in enumerate(rest):
        try:
            missing = not hasattr(found, name)
        except Exception as error:
            raise LoadError(f"looking up {name} in {module.__name__} raised {_describe(error)}") from error
        if missing:
            where = ".".join([module.__name__, *rest[:depth]])
            what = "class" if depth == len(rest) - 1 else "module"
            raise LoadError(f"{where} has no {what} {name!r}{_suggestion(found, name, what)}")
        found = getattr(found, name)
    if inspect.ismodule(found):
        names = sorted(name for name in _classes(found) if getattr(found, name).__module__ == found.__name__)
        advice = f"; name one of its classes: {', '.join(names)}" if names else " without classes"
        raise LoadError(f"{path} is a module{advice}")
    if not inspect.isclass(found):
        name = type(found).__name__
        raise LoadError(f"{path} is {'an' if name[0] in 'aeiou' else 'a'} {name}, not a class")
    return found


def load_module(path: str) -> ModuleType:
    """Import a module.

    Raises:
        LoadError: if there is none, or importing it raises.
    """
    module, rest = _import_longest(path.split("."))
    if rest:
        raise LoadError(f"{module.__name__} has no module {rest[0]!r}{_suggestion(module, rest[0], 'module')}")
    return module


def path_of(defined: Any) -> str:
    """Return a dotted path that leads to a class or a function, or the name that it gives itself if none does.

    What a factory made, or what another module names, need not be where it says that it was defined.

    Args:
        defined: that, or the path that its author gives, which is used as :func:`dotted` understands it.

    Raises:
        LoadError: if there is no such file.
    """
    if isinstance(defined, str):
        try:
            return dotted(defined)
        except ValueError as error:
            raise LoadError(f"{defined if defined.isprintable() else repr(defined)}: {error}") from error
    own = own_name(defined)
    if is_importable(own, defined) and own.rpartition(".")[0] in sys.modules:
        return own
    called = getattr(defined, "__name__", "")
    return min(_names_of(defined), key=lambda path: path.rpartition(".")[2] != called, default=own)


def own_name(defined: Any) -> str:
    """Return where a class or a function says that it was defined."""
    return f"{getattr(defined, '__module__', '')}.{getattr(defined, '__qualname__', type(defined).__name__)}"


def _names_of(defined: Any) -> Iterator[str]:
    """Yield the dotted paths by which modules name something, those of its own module first."""
    own = getattr(defined, "__module__", "")
    for module in sorted(sys.modules, key=lambda name: name != own):
        for name, found in list(getattr(sys.modules[module], "__dict__", {}).items()):
            if found is defined and is_importable(f"{module}.{name}", defined):
                yield f"{module}.{name}"


def leads_to(path: str, defined: Any) -> bool:
    """Whether a dotted path leads to a class or a function."""
    names = path.split(".")
    module = next((end for end in range(len(names) - 1, 0, -1) if ".".join(names[:end]) in sys.modules), 0)
    found: Any = sys.modules.get(".".join(names[:module]))
    for name in names[module:]:
        found = getattr(found, name, None)
    return found is defined


def is_importable(path: str, defined: Any) -> bool:
    """Whether a dotted path leads to a class or a function in every process that can import its module."""
    return leads_to(path, defined) and path.partition(".")[0] not in ("__main__", "__mp_main__")


def load_error(path: str) -> type[BaseException]:
    """Import an exception that the author names.

    Raises:
        LoadError: if the path names none.
    """
    found = load_class(path)
    if not issubclass(found, BaseException):
        raise LoadError(f"{path} is no exception")
    return found


def check_components(settings: Mapping[str, Any]) -> None:
    """Import what settings of Scrapy name, where Scrapy would.

    Args:
        settings: crawler settings.

    Raises:
        LoadError: if one of them should name a class, and there is none.
    """
    from scrapy.settings import default_settings
    from scrapy.utils.misc import load_object

    for name, value in settings.items():
        usual = getattr(default_settings, name, None)
        if not isinstance(usual, str) or not _DOTTED.fullmatch(usual) or not isinstance(value, str) or value in ("", "None"):
            continue
        wrong = f"Scrapy finds no class within a class; give {value} a name of its own in a module"
        try:
            load_class(value)
        except LoadError as error:
            wrong = str(error)
        with suppress(Exception):
            if callable(load_object(value)):
                continue  # a function does for Scrapy
        raise LoadError(f"the setting {name}: {wrong}")


_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def _suggestion(owner: Any, name: str, what: str) -> str:
    """Return what the author may have meant by a name that a module or class does not have."""
    if not inspect.ismodule(owner):
        return did_you_mean(name, _classes(owner))
    below = [module.name for module in pkgutil.iter_modules(getattr(owner, "__path__", ()))]
    if what == "module":
        return did_you_mean(name, below)
    for submodule in below:
        path = f"{owner.__name__}.{submodule}"
        if inspect.isclass(getattr(sys.modules.get(path), name, None)):
            return f"; did you mean {f'{path}.{name}'!r}?"
    return did_you_mean(name, _classes(owner))


def _classes(owner: Any) -> list[str]:
    """Return the names of the classes in a module or class, but for those of other packages, which it only uses."""
    package = (owner.__name__ if inspect.ismodule(owner) else owner.__module__).partition(".")[0]
    found = {name: value for name, value in vars(owner).items() if inspect.isclass(value) and not name.startswith("_")}
    return [name for name, value in found.items() if value.__module__.partition(".")[0] == package]


def _import_longest(parts: list[str]) -> tuple[ModuleType, list[str]]:
    """Import the longest prefix that is a module; return it with the names that are left."""
    module: ModuleType | None = None
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        try:
            module = importlib.import_module(name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            lacking = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
            if lacking == "qcrawl" and not sys.modules.get("qcrawl"):
                raise LoadError(NO_QCRAWL) from error
            if not isinstance(error, ModuleNotFoundError) or error.name != name:
                advice = remedy(error, parts[0])
                raise LoadError(f"importing {name} raised {_describe(error)}{': ' if advice else ''}{advice}") from error
            if module is not None:
                return module, parts[end - 1 :]
            advice = did_you_mean(name, (found.name for found in pkgutil.iter_modules()), cutoff=0.8, listed=0)
            advice = advice or "; is its package installed in this environment?"
            raise LoadError(f"there is no module {name!r}{advice}") from error
    assert module is not None
    return module, []


def abstract(cls: type[Any], path: str, raising: str = "") -> str:
    """Return a line on a class that itself leaves methods to its subclasses, or ``""``.

    One that derives from such a class and does not define them is no base class: it has failed to.

    Args:
        path: its dotted path.
        raising: the method that raised ``NotImplementedError``; without one, only abstract methods count.
    """
    own = {name: value for name, value in vars(cls).items() if inspect.isroutine(value)}
    left = [name for name in own if name in getattr(cls, "__abstractmethods__", ())]
    if raising in own:
        codes = {name: getattr(value, "__code__", None) for name, value in own.items()}
        left = [name for name, code in codes.items() if "NotImplementedError" in getattr(code, "co_names", ())]
    if not left or (raising and raising not in left):
        return ""
    found = [below for below in map(path_of, cls.__subclasses__()) if "<locals>" not in below]
    advice = f", such as {found[0]}" if found else ""
    return f"{path} is an abstract class, which leaves {', '.join(left)} to its subclasses: name one that defines them{advice}"


def _describe(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen ")]
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    try:
        text = str(error)
        if isinstance(error, SyntaxError) and os.path.isfile(error.filename or ""):  # no frame is in that file
            text, where = error.msg, f" ({error.filename}, line {error.lineno})"
        text = shortened(text, 400, both_ends=True)
    except Exception as another:  # its class may do so
        text = f"whose text raises {type(another).__name__}"
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"


def tell_kind(cls: type[Any], option: str = "", path: str = "") -> Kind:
    """Tell what a class is from its methods and its constructor.

    Args:
        option: the option that named it, without dashes; without one, only the class counts.

    Raises:
        LoadError: if it is nothing that this version tests, or nothing that the option is for.
    """
    name = path or path_of(cls)
    found = evident_kind(cls)
    if found is not None and option and option not in (found.option, *found.also_by):
        raise LoadError(f"{name} is {found.one}: give it by --{found.option}")
    found = found or next((kind for kind in all_kinds() if kind.assumed and kind.option == option), None)
    if found is None:
        raise LoadError(f"{name} is no queue: {_lacking(cls)}")
    if line := found.foreign(cls):
        raise LoadError(f"{name} is made for another framework: {line}")
    return found


def _lacking(cls: type[Any]) -> str:
    """Say what a class needs to be a queue, and what its author may do where it is one for somebody else."""
    asynchronous = inspect.iscoroutinefunction(getattr(cls, "get", None))
    first, needed = (["size", "clear"], _ASYNCHRONOUS) if asynchronous else (["push", "pop"], _SYNCHRONOUS)

    def lacks(name: str) -> bool:
        if not asynchronous:
            return not methods_of(cls, name)
        found = getattr(cls, name, None)
        return not (callable(found) if name == "maxsize" else inspect.iscoroutinefunction(found))

    line = f"it has no {'coroutine ' if asynchronous else ''}{' and no '.join(filter(lacks, first))}"
    if others := methods_of(cls, *_OTHERS):
        line += f", but {listed(others)}: name a subclass that defines {listed([*filter(lacks, needed)])}"
    return line


_SYNCHRONOUS = ["push", "pop", "__len__", "close"]
_ASYNCHRONOUS = ["put", "get", "size", "clear", "close", "maxsize"]
_OTHERS = ("put", "get", "append", "popleft", "enqueue", "dequeue", "push", "poll")
"""What queues elsewhere call it, or have of it."""


def evident_kind(cls: type[Any]) -> Kind | None:
    """Return the kind that the methods and the constructor of a class show, if they show one."""
    return next((kind for kind in sorted(all_kinds(), key=lambda kind: -kind.precedence) if kind.shows(cls)), None)


def package_version(cls: type[Any], path: str) -> str:
    """Return the distribution that a class belongs to and its version, such as ``Scrapy 2.19.0``, or ``""``.

    Args:
        path: how the author names it, which counts where its own name does not lead to it.
    """
    own = own_name(cls)
    top = (own if leads_to(own, cls) else path).partition(".")[0]
    module = sys.modules.get(top)
    if distribution := _distribution_of(top, getattr(module, "__file__", None) or ""):
        told = distribution.metadata  # parsed by each look
        return f"{told['Name']} {told['Version']}"
    version = getattr(module, "__version__", "")
    return f"{top} {version}" if version else ""


def _distribution_of(top: str, file: str) -> importlib.metadata.Distribution | None:
    """Return the distribution that a package was installed with, or ``None``: a fork beside the run may be called alike.

    Args:
        top: the name of the package, which most distributions are called after.
        file: where it is; a look into what all distributions hold takes 0.1 s, and only what was installed is worth that.
    """
    with suppress(importlib.metadata.PackageNotFoundError):
        distribution = importlib.metadata.distribution(top)
        its_own = Path(str(distribution.locate_file(top))).resolve()
        another = file and its_own.is_dir() and not Path(file).resolve().is_relative_to(its_own)
        return None if another else distribution
    names = importlib.metadata.packages_distributions().get(top) if "-packages" in file else None
    return importlib.metadata.distribution(names[0]) if names else None

"""What the user asked for: the command line, completed by ``[tool.queue_conformance]`` of pyproject.toml."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

GROUP = "pytest-queue-conformance"


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
    """

    name: str
    help: str
    metavar: str = ""
    repeats: bool = False
    convert: Callable[[str], Any] = str
    default: Any = None

    @property
    def dest(self) -> str:
        """The name of the attribute in pytest's options."""
        return self.name.replace("-", "_")


def _level(text: str) -> str:
    if text.upper() not in ("MUST", "SHOULD"):
        raise ValueError("write MUST or SHOULD")
    return text.upper()


def _natural(text: str) -> int:
    if not text.isdigit():
        raise ValueError("write a whole number, 0 or more")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise ValueError("write a whole number, 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError("write a number of seconds above 0")
    return seconds


def _server(text: str) -> str:
    from queue_conformance.faults.servers import check_name

    return check_name(text)


def _file(text: str) -> str:
    if not text:
        raise ValueError("write the name of a file")
    return text


def _report(text: str) -> str:
    from pathlib import PurePath

    from queue_conformance.reports.files import RENDERERS

    if PurePath(text).suffix not in RENDERERS:
        raise ValueError(f"write the name of a file that ends in {', '.join(RENDERERS)}")
    return text


CLASS_OPTIONS = ("queue-class", "priority-queue-class", "scheduler-class", "dupefilter-class", "spider-state-class")
"""The options that name classes to examine."""

OPTIONS = (
    Option("queue-class", "examine this queue: the dotted path of a class", "PATH", repeats=True),
    Option("priority-queue-class", "examine this priority queue or round-robin queue", "PATH", repeats=True),
    Option("scheduler-class", "examine this scheduler", "PATH", repeats=True),
    Option("dupefilter-class", "examine this duplicates filter", "PATH", repeats=True),
    Option("spider-state-class", "examine this extension that keeps the state of spiders", "PATH", repeats=True),
    Option(
        "queue-setting",
        "a crawler setting, or an argument of the constructor where there is no crawler",
        "NAME=VALUE",
        repeats=True,
    ),
    Option(
        "queue-server",
        "the server behind the queue: redis (a private redis-server, or else fakeredis), redis-server, fakeredis, or HOST:PORT",
        "SERVER",
        convert=_server,
    ),
    Option("conformance", "examine what [tool.queue_conformance] of pyproject.toml names"),
    Option("conformance-only", "of these, only the one of this name", "NAME", repeats=True),
    Option(
        "conformance-claim",
        "what the class promises: order=FIFO, persistent, peek=no, crash-safe, ...",
        "NAME[=VALUE]",
        repeats=True,
    ),
    Option(
        "conformance-level",
        "the level whose broken rules fail the run: MUST (default) or SHOULD",
        "LEVEL",
        convert=_level,
        default="MUST",
    ),
    Option("conformance-baseline", "the rules that are known to be broken, each with a reason", "FILE.toml", convert=_file),
    Option("conformance-update-baseline", "write what is broken now to the baseline, and remove what is fixed"),
    Option(
        "conformance-report",
        "write the results to this file; its ending says in which form: .jsonl, .html, .xml (JUnit), .md, .svg or .json (badges)",
        "FILE",
        repeats=True,
        convert=_report,
    ),
    Option("conformance-seed", "seeds everything that is drawn (default: 0)", "N", convert=_natural, default=0),
    Option("conformance-examples", "programs and requests to draw (default: 100)", "N", convert=_positive, default=100),
    Option(
        "conformance-time-limit", "seconds that one operation may take (default: 10)", "SECONDS", convert=_seconds, default=10.0
    ),
    Option("conformance-in-process", "run in pytest's own process, unprotected against hangs and exits (for debuggers)"),
)


OF_A_RUN = ("conformance", "conformance-only", "conformance-update-baseline")
"""The options that ask for a run; they are for the command line only."""


class UsageError(ValueError):
    """An option is wrong; the message is one line that says what to write."""


@dataclass(frozen=True, slots=True)
class Target:
    """One implementation to examine.

    Attributes:
        name: what reports call it: its name in pyproject.toml, or else the dotted path of its class.
        option: the option that names its class, without dashes.
        path: the dotted path of its class.
        settings: settings by name, as text.
        claims: what its author claims, by name.
        server: the server behind it, or ``""``.
        level: the level whose broken rules fail the run.
    """

    name: str
    option: str
    path: str
    settings: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    server: str = ""
    level: str = "MUST"


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for.

    Attributes:
        targets: what to examine, in order; each name once.
        reports: files to write.
        seed: seeds everything that is drawn.
        examples: programs and requests to draw.
        time_limit: seconds that one operation may take.
        in_process: run without protection.
        baseline: the file of the rules that are known to be broken, or ``None``.
        update_baseline: bring that file up to date.
        everything: whether all that pyproject.toml describes is examined, and nothing else.
    """

    targets: tuple[Target, ...]
    reports: tuple[str, ...] = ()
    seed: int = 0
    examples: int = 100
    time_limit: float = 10.0
    in_process: bool = False
    baseline: Path | None = None
    update_baseline: bool = False
    everything: bool = False


def add_options(parser: pytest.Parser) -> None:
    """Declare the options, in a group of their own."""
    group = parser.getgroup(GROUP, "conformance of crawl queues and schedulers (pytest-queue-conformance)")
    for option in OPTIONS:
        settings: dict[str, Any] = {"dest": option.dest, "help": option.help, "default": None}
        if option.metavar:
            settings |= {"action": "append" if option.repeats else "store", "metavar": option.metavar}
        else:
            settings |= {"action": "store_true"}
        group.addoption(f"--{option.name}", **settings)


def asked(config: pytest.Config) -> bool:
    """Whether an option asks for a run; nothing else is read or imported before."""
    return any(config.getoption(name.replace("-", "_")) for name in (*OF_A_RUN, *CLASS_OPTIONS))


def read(config: pytest.Config) -> Options:
    """Combine the command line with ``[tool.queue_conformance]`` of the pyproject.toml in pytest's root directory.

    What the command line says of an option replaces what the table says of it.

    Raises:
        UsageError: if an option is wrong.
    """
    table = _table(config)
    described = table.pop(_DESCRIBED, {})
    given = {option.name: config.getoption(option.dest) for option in OPTIONS}
    spoken = {name for name, value in given.items() if value not in (None, False, [])}
    values: dict[str, Any] = {}
    for option in OPTIONS:
        if option.name not in spoken and option.name in table:
            values[option.name] = _converted(option, table[option.name], f"{option.name} in [{_TABLE}]")
        else:
            values[option.name] = _converted(option, given[option.name], f"--{option.name}")
    common = _Common(
        _settings(values["queue-setting"], "--queue-setting"),
        _claims(values["conformance-claim"], "--conformance-claim"),
        values["queue-server"] or "",
        values["conformance-level"],
        frozenset(spoken),
    )
    classes = {path: name for name in CLASS_OPTIONS for path in values[name]}
    targets = [
        Target(path, option, path, common.settings, common.claims, common.server, common.level)
        for path, option in classes.items()
    ]
    if not spoken.intersection(CLASS_OPTIONS):  # the command line names classes of its own
        targets += [_target(name, entry, common) for name, entry in _entries(described)]
    targets = _chosen(targets, values["conformance-only"])
    if not targets:
        raise UsageError(f"nothing to examine: give --queue-class, or name queue-class in [{_TABLE}] of pyproject.toml")
    for name in values["conformance-report"]:
        if not (config.invocation_params.dir / name).parent.is_dir():
            raise UsageError(f"--conformance-report: there is no directory for {name!r}")
    if values["conformance-update-baseline"] and not values["conformance-baseline"]:
        raise UsageError("--conformance-update-baseline: name the file to write, by --conformance-baseline=FILE.toml")
    baseline = _baseline(values["conformance-baseline"], config, spoken)
    if baseline and not baseline.parent.is_dir():
        raise UsageError(f"--conformance-baseline: there is no directory for {values['conformance-baseline']!r}")
    return Options(
        targets=tuple(targets),
        reports=tuple(values["conformance-report"]),
        seed=values["conformance-seed"],
        examples=values["conformance-examples"],
        time_limit=values["conformance-time-limit"],
        in_process=bool(values["conformance-in-process"] or config.getoption("usepdb", False)),
        baseline=baseline,
        update_baseline=bool(values["conformance-update-baseline"]),
        everything=not spoken.intersection(("conformance-only", *CLASS_OPTIONS)),
    )


def _baseline(name: str | None, config: pytest.Config, spoken: Container[str]) -> Path | None:
    """Return where the baseline is: what pyproject.toml names lies beside it."""
    if not name:
        return None
    return (config.invocation_params.dir if "conformance-baseline" in spoken else config.rootpath) / name


_TABLE = "tool.queue_conformance"
_DESCRIBED = "implementations"


def _table(config: pytest.Config) -> dict[str, Any]:
    import tomllib

    file = config.rootpath / "pyproject.toml"
    if not file.is_file():
        return {}
    try:
        table = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("queue_conformance", {})
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file.name}: {error}") from error
    table = {name.replace("_", "-"): value for name, value in table.items()}
    names = [option.name for option in OPTIONS if option.name not in OF_A_RUN]
    _know(table, [*names, _DESCRIBED], f"[{_TABLE}]")
    return table


def _know(table: Mapping[str, Any], names: Sequence[str], where: str) -> None:
    """Complain of a key that nobody reads."""
    for name in table:
        if name not in names:
            raise UsageError(f"{where} has no key {name!r}{_meant(name, names)}")


def _meant(name: str, names: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _converted(option: Option, given: Any, where: str) -> Any:
    if given is None or given is False:
        return [] if option.repeats else option.default
    if not option.metavar:
        return bool(given)
    try:
        if option.repeats:
            if isinstance(given, Mapping):
                given = [f"{name}={_said(value)}" for name, value in given.items()]
            return [option.convert(str(value)) for value in ([given] if isinstance(given, str) else given)]
        return option.convert(str(given))
    except ValueError as error:
        raise UsageError(f"{where}: {error}, not {given!r}") from error


def _said(value: Any) -> str:
    """Return a value of TOML as the command line would say it; Scrapy reads lists and tables as JSON."""
    if isinstance(value, (list, dict)):
        import json

        return json.dumps(value)
    return str(value)


def _settings(texts: list[str], where: str) -> dict[str, str]:
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{where}: write NAME=VALUE, not {text!r}")
        settings[name.strip()] = value
    return settings


def _claims(texts: list[str], where: str) -> dict[str, str]:
    if not texts:
        return {}
    from queue_conformance.implementations.capabilities import ClaimError, parse_claims
    from queue_conformance.specification import Kind

    try:
        return parse_claims(texts, [kind.value for kind in Kind])
    except ClaimError as error:
        raise UsageError(f"{where}: {error}") from error


# --- Implementations that pyproject.toml describes -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Common:
    """What holds for every implementation that does not say otherwise.

    Attributes:
        settings: settings by name.
        claims: what is claimed.
        server: the server, or ``""``.
        level: the level.
        spoken: the options that the command line gives; these win over what the table says of one implementation.
    """

    settings: Mapping[str, str]
    claims: Mapping[str, str]
    server: str
    level: str
    spoken: frozenset[str]

    def over(self, option: str, own: Mapping[str, str], common: Mapping[str, str]) -> dict[str, str]:
        """Return what an implementation says, and what is common; where both speak, the command line wins."""
        return {**own, **common} if option in self.spoken else {**common, **own}


DESCRIBING = {"settings": "queue-setting", "claims": "conformance-claim", "server": "queue-server", "level": "conformance-level"}
"""The keys that describe an implementation, besides its class and its profile, and the options that they stand for."""


def _entries(described: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(described, Mapping):
        raise UsageError(f"{_DESCRIBED} in [{_TABLE}]: write a table [{_TABLE}.{_DESCRIBED}.NAME] for each one")
    for name, entry in described.items():
        if not isinstance(entry, Mapping):
            raise UsageError(f"{_DESCRIBED} in [{_TABLE}]: write a table [{_TABLE}.{_DESCRIBED}.{name}], not {entry!r}")
        yield name, entry


def _target(name: str, entry: Mapping[str, Any], common: _Common) -> Target:
    """Return what one table describes."""
    where = f"[{_TABLE}.{_DESCRIBED}.{name}]"
    entry = {key.replace("_", "-"): value for key, value in entry.items()}
    _know(entry, [*CLASS_OPTIONS, *DESCRIBING, "profile"], where)
    named = [option for option in CLASS_OPTIONS if option in entry]
    if len(named) != 1 or not isinstance(entry[named[0]], str):
        raise UsageError(f"{where}: name one class, by one of {', '.join(CLASS_OPTIONS)}")
    by_name = {option.name: option for option in OPTIONS}
    values = {
        key: _converted(by_name[option], entry.get(key), f"{key} in {where}")
        for key, option in DESCRIBING.items()
        if key in entry or by_name[option].repeats
    }
    claims = _claims([*values["claims"], *([f"profile={entry['profile']}"] if "profile" in entry else [])], f"claims in {where}")
    server = common.server if "queue-server" in common.spoken else values.get("server", common.server)
    return Target(
        name,
        named[0],
        entry[named[0]],
        common.over("queue-setting", _settings(values["settings"], f"settings in {where}"), common.settings),
        common.over("conformance-claim", claims, common.claims),
        server,
        common.level if "conformance-level" in common.spoken else values.get("level", common.level),
    )


def _chosen(targets: Sequence[Target], names: Sequence[str]) -> list[Target]:
    """Return the targets of some names, or all.

    Raises:
        UsageError: if a name is unknown.
    """
    known = {target.name: target for target in targets}
    for name in names:
        if name not in known:
            raise UsageError(f"--conformance-only: nothing is called {name!r} in [{_TABLE}]{_meant(name, known)}")
    return [known[name] for name in names] if names else list(known.values())

"""Whatever is handed in as an option, a table, an attribute or a baseline, it is taken, or refused in one line."""

import types
from datetime import date, datetime

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from queue_conformance import baseline
from queue_conformance.baseline import BaselineError, tables
from queue_conformance.baseline.gate import Gate
from queue_conformance.config import options, run_config
from queue_conformance.config.targets import Common, describe
from queue_conformance.config.values import UsageError
from queue_conformance.implementation.loading import LoadError, load_class

SWEEP = settings(max_examples=200, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))

WORDS = """
a false true yes order=FIFO order=LIFO order = A=1 1 -1 ² nan 1e999 MUST redis localhost:6379 :1 [::1]:99999 r.jsonl no/r.jsonl
. .. a.B a..B scrapy<2 kind=scheduler profile=scrapy transient-error=a.b peek=no peek queue.pop.fifo 2030-01-31
"""
EVERY_TEXT = [*WORDS.split(), "", " ", "9" * 5000, "\0.jsonl", "\0/r.jsonl", "a\nb", f"{'é' * 300}/r.jsonl"]
TEXTS = st.sampled_from(EVERY_TEXT)
VALUES = st.recursive(
    TEXTS
    | st.sampled_from([True, False, 0, 1, -1, 10**30, 1.5, float("nan"), float("inf"), date(2030, 1, 31), datetime(2030, 1, 31)])
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
"""What TOML can say."""

OBJECTS = VALUES | st.sampled_from([None, b"a", object(), int, print, {1, 2}, (), {"a": object()}, [[object()]], 1j, range(2)])
"""What Python can say besides."""


def toml(value):
    """Return a value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return tables.quoted(value).replace("\x7f", "\\u007f") if "'" in value else '"' + "".join(map(escaped, value)) + '"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml(key)} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return value.isoformat() if isinstance(value, date) else str(value)


def escaped(character):
    return f"\\U{ord(character):08x}" if not character.isprintable() or character in '"\\' else character


def config(directory, table, given):
    """Return what pytest would say of a command line in a directory with this table in its pyproject.toml."""
    (directory / "pyproject.toml").write_text(f"[tool.queue_conformance]\n{table}\n", "utf-8", "backslashreplace")
    given = {f"--{name}": value for name, value in given.items()}
    source = types.SimpleNamespace(ARGS=1)
    return types.SimpleNamespace(
        getoption=lambda name, default=None: given.get(name, default),
        rootpath=directory,
        invocation_params=types.SimpleNamespace(dir=directory),
        args_source=0,
        ArgsSource=source,
    )


def one_line(error):
    assert str(error)
    assert len(str(error).splitlines()) == 1


NAMED = options.BY_NAME
GIVEN = st.fixed_dictionaries(
    {"conformance": st.just(True)},
    optional={
        name: (st.lists(TEXTS, max_size=2) if option.repeats else TEXTS) if option.metavar else st.booleans()
        for name, option in NAMED.items()
        if name != "conformance"
    },
)
TABLE = st.dictionaries(
    st.sampled_from([name for name in NAMED if name not in options.OF_A_RUN] + [options.DESCRIBED, "queue_class", "no-such"]),
    VALUES,
    max_size=2,
)
DESCRIBED = st.dictionaries(
    st.sampled_from(["queue-class", "scheduler_class", *options.DESCRIBING, "profile", "kind", "no-such"]), VALUES, max_size=3
)


def test_every_text_is_taken_or_refused_in_one_line_for_every_option(tmp_path):
    for name, option in NAMED.items():
        for text in EVERY_TEXT if option.metavar else ():
            read(tmp_path, {"conformance": True, "queue-class": ["a.B"], name: [text] if option.repeats else text}, "")
            if name not in options.OF_A_RUN:
                read(tmp_path, {"conformance": True, "queue-class": ["a.B"]}, f"{name} = {toml(text)}")


@pytest.mark.parametrize("switch", [option.name for option in options.OPTIONS if not option.metavar])
@pytest.mark.parametrize("value", ["false", "true", "no", "", 0, 1, 0.0, [], ["false"], {}])
def test_a_switch_takes_booleans_only(tmp_path, switch, value):
    if switch in options.OF_A_RUN:
        with pytest.raises(UsageError, match=f"^--{switch}: write true or false, and no other value, not "):
            run_config.read(config(tmp_path, "", {"conformance": True, "queue-class": ["a.B"], switch: value}))
        return
    with pytest.raises(UsageError, match=rf"^{switch} in \[tool.queue_conformance\]: write true or false, and no other "):
        run_config.read(config(tmp_path, f"{switch} = {toml(value)}", {"conformance": True, "queue-class": ["a.B"]}))


def read(directory, given, lines):
    """Read options and the baseline; what is wrong with them must be one line."""
    try:
        found = run_config.read(config(directory, lines, given))
        Gate(found, directory)
    except (UsageError, BaselineError) as error:
        one_line(error)
    else:
        assert isinstance(found.in_process, bool)
        assert all("\0" not in name for name in found.reports)


@given(GIVEN, TABLE, st.none() | DESCRIBED)
@SWEEP
def test_options_and_tables_are_read_or_refused_in_one_line(tmp_path_factory, given, table, described):
    directory = tmp_path_factory.mktemp("handed")
    lines = [f"{toml(name)} = {toml(value)}" for name, value in table.items()]
    if described is not None and options.DESCRIBED not in table:
        lines.append(f"[tool.queue_conformance.{options.DESCRIBED}.mine]")
        lines += [f"{toml(name)} = {toml(value)}" for name, value in described.items()]
    read(directory, given, "\n".join(lines))


@given(st.dictionaries(st.sampled_from([*options.DESCRIBING, "kind", "profile"]), OBJECTS, max_size=3))
@SWEEP
def test_attributes_and_arguments_are_taken_or_refused_in_one_line(said):
    try:
        target = describe("mine", "", "a.B", said, Common())
    except UsageError as error:
        one_line(error)
    else:
        assert all(isinstance(value, str) for value in (target.server, target.level))
        assert all(isinstance(value, str | int | float | list | dict) for value in target.settings.values())


ENTRY = {
    "implementation": "a.B",
    "rule": "queue.pop.fifo",
    "reason": "soon",
    "issue": "#1",
    "expires": date(2030, 1, 31),
    "versions": ["scrapy<3"],
    "operations": ["queue.pop()"],
    "sequence": [["push", 0, 1]],
    "seed": 1,
}
OFFERED = {"implementation": "a.B", "capabilities": ["persistent"]}
CHANGED = st.dictionaries(st.sampled_from([*ENTRY, "capabilities", "no-such"]), VALUES, max_size=2)


@given(st.lists(st.tuples(st.sampled_from(["known", "offered"]), CHANGED), max_size=3), st.integers(0, 400), TEXTS)
@example([("known", {"implementation": "a\r\nb", "seed": []})], 0, "")
@SWEEP
def test_baselines_are_read_or_refused_in_one_line(tables, at, inserted):
    text = ""
    for name, changes in tables:
        table = (ENTRY if name == "known" else OFFERED) | changes
        text += "".join([f"[[{name}]]\n", *(f"{toml(key)} = {toml(value)}\n" for key, value in table.items())])
    for written in (text, text[:at] + inserted + text[at:], text[:at]):
        try:
            found = baseline.parse(written, "b.toml")
        except BaselineError as error:
            one_line(error)
        else:
            assert all(isinstance(entry.unmet(), str) for entry in found.entries)


@given(TEXTS | st.text(max_size=8) | st.lists(TEXTS, min_size=2, max_size=3).map(".".join))
@SWEEP
def test_paths_of_classes_are_loaded_or_refused_in_one_line(path):
    with pytest.raises(LoadError) as caught:
        load_class(path)
    one_line(caught.value)

"""Options come from the command line and from pyproject.toml, and every mistake is one line."""

import pytest

from queue_conformance.config import options, run_config
from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Target
from queue_conformance.config.values import UsageError, settings_of
from queue_conformance.specification.settings import Text, filled, means_address, words_in


@pytest.fixture
def read(pytester):
    """Read the options of a command line, in a directory with this table in its pyproject.toml."""

    def read(*arguments, table=None):
        if table is not None:
            pytester.makepyprojecttoml(f"[tool.queue_conformance]\n{table}\n")
        return run_config.read(pytester.parseconfig(*arguments))

    return read


DEFAULT = Options((Target("a.B", "queue-class", "a.B"),))


def test_classes_are_kept_in_order_and_once(read):
    found = read("--queue-class=a.B", "--priority-queue-class=a.C", "--queue-class=a.D", "--queue-class=a.B")
    classes = [(target.option, target.path) for target in found.targets]
    assert classes == [("queue-class", "a.B"), ("queue-class", "a.D"), ("priority-queue-class", "a.C")]


def test_everything_has_a_default(read):
    assert read("--queue-class=a.B") == DEFAULT


def test_the_command_line_is_read(read):
    found = read(
        "--queue-class=a.B",
        "--queue-setting=REDIS_URL=redis://localhost/0?a=b",
        "--queue-setting=EMPTY=",
        "--conformance-claim=order=lifo",
        "--conformance-level=should",
        "--conformance-report=one.jsonl",
        "--conformance-report=two.jsonl",
        "--conformance-seed=7",
        "--conformance-examples=10",
        "--conformance-time-limit=2.5",
        "--conformance-in-process",
    )
    (target,) = found.targets
    assert target.settings == {"REDIS_URL": "redis://localhost/0?a=b", "EMPTY": ""}
    assert target.claims == {"order": "LIFO"}
    assert target.level == "SHOULD"
    assert found.reports == ("one.jsonl", "two.jsonl")
    assert (found.seed, found.examples, found.time_limit, found.in_process) == (7, 10, 2.5, True)


def test_the_table_is_read(read):
    found = read(
        "--conformance",
        table="""
            queue-class = ["a.B", "a.C"]
            queue-setting = { REDIS_URL = "redis://localhost", PORT = 6379 }
            conformance-claim = ["persistent", "order=FIFO"]
            conformance_level = "SHOULD"
            conformance-seed = 3
            conformance-in-process = true
        """,
    )
    assert [target.path for target in found.targets] == ["a.B", "a.C"]
    for target in found.targets:
        assert target.settings == {"REDIS_URL": "redis://localhost", "PORT": 6379}
        assert target.claims == {"persistent": "yes", "order": "FIFO"}
        assert target.level == "SHOULD"
    assert (found.seed, found.in_process) == (3, True)


VALUES = {
    "queue-setting": '{ A = "b" }',
    "conformance-claim": '"peek"',
    "conformance-level": '"SHOULD"',
    "conformance-baseline": '"known.toml"',
    "conformance-report": '"a.jsonl"',
    "conformance-seed": "1",
    "conformance-examples": "2",
    "conformance-crawls": "2",
    "conformance-jobs": "2",
    "conformance-time": '"5m"',
    "conformance-time-limit": "3",
    "conformance-in-process": "true",
    "conformance-measure-up-to": "10",
    "conformance-measure-time": '"5m"',
    "conformance-measure-axis": '"hosts"',
    "conformance-measure-output": '"a.html"',
}


OTHERS = ("queue-server", "conformance-kept")
"""The options whose values have to be there; other tests set them."""


@pytest.mark.parametrize("name", [o.name for o in options.OPTIONS if o.name not in (*options.OF_A_RUN, *OTHERS)])
def test_every_option_can_be_set_in_the_table(read, name):
    value = VALUES.get(name, '"a.C"')
    arguments = ["--conformance"] if name in options.CLASS_OPTIONS else ["--queue-class=a.B"]
    assert read(*arguments, table=f"{name} = {value}") != DEFAULT


def test_the_command_line_replaces_the_table(read):
    found = read("--queue-class=a.B", "--conformance-seed=1", table='queue-class = ["a.C"]\nconformance-seed = 2')
    assert [target.path for target in found.targets] == ["a.B"]
    assert found.seed == 1


def test_a_baseline_lies_where_it_was_named(read, pytester, monkeypatch):
    below = pytester.mkdir("below")
    monkeypatch.chdir(below)
    table = 'conformance-baseline = "known.toml"'
    assert read("--queue-class=a.B", "--rootdir=..", table=table).baseline == pytester.path / "known.toml"
    assert read("--queue-class=a.B", "--conformance-baseline=known.toml").baseline == below / "known.toml"


# --- Implementations that are described one by one -------------------------------------------------------------------

DESCRIBED = """
    queue-setting = { REDIS_URL = "redis://{host}:{port}/0" }
    conformance-level = "SHOULD"

    [tool.queue_conformance.implementations.fifo]
    queue-class = "a.Queue"
    server = "redis"
    settings = { TIMEOUT = 0.3, NAMES = ["a", "b"] }
    claims = { order = "FIFO", persistent = true, peek = false }
    profile = "external-queue"

    [tool.queue_conformance.implementations.lifo]
    queue_class = "a.Queue"
    settings = { REDIS_URL = "redis://elsewhere/0" }
    claims = ["order=LIFO"]
    level = "MUST"
"""


def test_implementations_are_described_by_name(read):
    fifo, lifo = read("--conformance", table=DESCRIBED).targets
    assert (fifo.name, fifo.option, fifo.path, fifo.server, fifo.level) == ("fifo", "queue-class", "a.Queue", "redis", "SHOULD")
    assert fifo.settings == {"REDIS_URL": "redis://{host}:{port}/0", "TIMEOUT": 0.3, "NAMES": ["a", "b"]}
    assert fifo.claims == {"order": "FIFO", "persistent": "yes", "peek": "no", "profile": "external-queue"}
    assert (lifo.name, lifo.path, lifo.server, lifo.level) == ("lifo", "a.Queue", "", "MUST")
    assert lifo.settings == {"REDIS_URL": "redis://elsewhere/0"}
    assert lifo.claims == {"order": "LIFO"}


def test_one_of_them_is_tested_alone(read):
    (target,) = read("--conformance-only=lifo", table=DESCRIBED).targets
    assert target.name == "lifo"


def test_only_a_whole_run_tests_everything(read):
    assert read("--conformance", table=DESCRIBED).everything
    assert not read("--conformance-only=lifo", table=DESCRIBED).everything
    assert not read("--queue-class=a.Other", table=DESCRIBED).everything


def test_a_class_on_the_command_line_is_tested_instead_of_them(read):
    (target,) = read("--queue-class=a.Other", table=DESCRIBED).targets
    assert (target.path, target.level) == ("a.Other", "SHOULD")


def test_the_command_line_wins_over_what_is_said_of_one(read):
    arguments = ["--queue-setting=TIMEOUT=1", "--queue-server=fakeredis", "--conformance-level=MUST"]
    fifo, lifo = read("--conformance", *arguments, table=DESCRIBED).targets
    assert fifo.settings["TIMEOUT"] == lifo.settings["TIMEOUT"] == "1"
    assert {fifo.server, lifo.server} == {"fakeredis"}
    assert {fifo.level, lifo.level} == {"MUST"}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            'queue-clas = "a.B"',
            "[tool.queue_conformance.implementations.mine] has no key 'queue-clas'; did you mean 'queue-class'?",
        ),
        ('server = "redis"', "[tool.queue_conformance.implementations.mine]: name one class, by one of queue-class, "),
        ('queue-class = ["a.B"]', "[tool.queue_conformance.implementations.mine]: name one class"),
        (
            'queue-class = "a.B"\nlevel = "MAY"',
            "level in [tool.queue_conformance.implementations.mine]: write MUST or SHOULD, not 'MAY'",
        ),
        (
            'queue-class = "a.B"\nclaims = { fast = true }',
            "claims in [tool.queue_conformance.implementations.mine]: unknown claim 'fast'",
        ),
        (
            'queue-class = "a.B"\nsettings = ["A"]',
            "settings in [tool.queue_conformance.implementations.mine]: write NAME=VALUE, not 'A'",
        ),
        (
            'queue-class = "a.B"\nprofile = "fast"',
            "profile in [tool.queue_conformance.implementations.mine]: the claim 'profile' cannot be 'fast'",
        ),
    ],
)
def test_a_wrong_description_is_explained(read, table, message):
    with pytest.raises(UsageError) as caught:
        read("--conformance", table=f"[tool.queue_conformance.implementations.mine]\n{table}")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_is_explained(read):
    with pytest.raises(UsageError, match=r"nothing is called 'fif' in .*; did you mean 'fifo'"):
        read("--conformance-only=fif", table=DESCRIBED)
    with pytest.raises(UsageError, match=r"nothing is called 'redis' in .*; known are fifo, lifo$"):
        read("--conformance-only=redis", table=DESCRIBED)


# --- What is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--conformance-seed=x"], "--conformance-seed: write a whole number, 0 or more, not 'x'"),
        (["--conformance-seed=-1"], "--conformance-seed: write a whole number, 0 or more, not '-1'"),
        (["--conformance-examples=0"], "--conformance-examples: write a whole number, 1 or more, not '0'"),
        (["--conformance-time=5"], "--conformance-time: write a length of time such as 90s, 30m or 8h, not '5'"),
        (["--conformance-time=-5m"], "--conformance-time: write a length of time such as 90s, 30m or 8h, not '-5m'"),
        (["--conformance-time-limit=0"], "--conformance-time-limit: write a number of seconds above 0, not '0'"),
        (["--conformance-time-limit=nan"], "--conformance-time-limit: write a number of seconds above 0, not 'nan'"),
        (["--conformance-level=MAY"], "--conformance-level: write MUST or SHOULD, not 'MAY'"),
        (["--conformance-report=r.htm"], "--conformance-report: write the name of a file that ends in .jsonl, .html, "),
        (["--conformance-report=.html"], "--conformance-report: write the name of a file that ends in "),
        (["--conformance-report=no/r.jsonl"], "--conformance-report: there is no directory for 'no/r.jsonl'"),
        ([f"--conformance-report={'x' * 300}.md"], f"--conformance-report: cannot write '{'x' * 300}.md': "),
        (
            ["--conformance-update-baseline"],
            "--conformance-update-baseline: name the file to write, by --conformance-baseline=FILE.toml",
        ),
        (["--conformance-baseline="], "--conformance-baseline: write the name of a file"),
        (["--conformance-baseline=/"], "--conformance-baseline: write the name of a file, and not of the directory '/'"),
        (["--conformance-database="], "--conformance-database: write a directory, or redis://HOST:PORT, not ''"),
        (
            [f"--conformance-database={__file__}"],
            f"--conformance-database: write a directory, or redis://HOST:PORT, and not the file '{__file__}'",
        ),
        (["--conformance-kept="], "--conformance-kept: write the name of a directory, not ''"),
        (
            ["--conformance-allow=a:99999"],
            "--conformance-allow: write HOST:PORT, or the path of a file or a socket, not 'a:99999'",
        ),
        (["--conformance-allow=:6379"], "--conformance-allow: write HOST:PORT, or the path of a file or a socket, not ':6379'"),
        (
            ["--conformance-measure-output=a.svg"],
            "--conformance-measure-output says how --conformance-measure measures; give that with it, or leave it out",
        ),
        (["--queue-setting=A"], "--queue-setting: write NAME=VALUE, not 'A'"),
        (["--queue-setting==b"], "--queue-setting: write NAME=VALUE, not '=***'"),
        (["--conformance-claim=fast"], "--conformance-claim: unknown claim 'fast'"),
        (
            ["--queue-server=mysql"],
            "--queue-server: write redis, redis-server, fakeredis, postgresql, or HOST:PORT of a running server, not 'mysql'",
        ),
        (["--conformance-claim=transient-error=Mine"], "--conformance-claim: the claim 'transient-error' names an exception"),
    ],
)
def test_a_wrong_option_is_explained(read, arguments, message):
    with pytest.raises(UsageError) as caught:
        read("--queue-class=a.B", *arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('queue-clas = "a.B"', "[tool.queue_conformance] has no key 'queue-clas'; did you mean 'queue-class'?"),
        ('queue_clas = "a.B"', "[tool.queue_conformance] has no key 'queue_clas'; did you mean 'queue-class'?"),
        (
            "conformance-crawl = true",
            "[tool.queue_conformance] has no key 'conformance-crawl': give --conformance-crawl on the command line",
        ),
        ("conformance-seed = -1", "conformance-seed in [tool.queue_conformance]: write a whole number"),
        ("", "nothing to test: give --queue-class, or name queue-class in [tool.queue_conformance]"),
        ("not toml", "pyproject.toml: "),
    ],
)
def test_a_wrong_table_is_explained(pytester, table, message):
    pytester.makepyprojecttoml("")
    config = pytester.parseconfig("--conformance")
    pytester.makepyprojecttoml(f"[tool.queue_conformance]\n{table}\n")
    with pytest.raises(UsageError) as caught:
        run_config.read(config)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tool]\nqueue_conformance = 3\n", "pyproject.toml: write a table [tool.queue_conformance], not 3"),
        (
            b'[tool.queue-conformance]\nqueue-class = ["a.B"]\n',
            "pyproject.toml: write [tool.queue_conformance], not [tool.queue-conformance]",
        ),
        (b"tool = 1\n", "nothing to test: give --queue-class"),
        (b"name = '\xe9'\n", "pyproject.toml: 'utf-8' codec can't decode byte 0xe9 in position 8"),
    ],
)
def test_a_file_that_holds_no_such_table_is_explained(pytester, content, message):
    config = pytester.parseconfig("--conformance", f"--rootdir={pytester.path}")
    (pytester.path / "pyproject.toml").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        run_config.read(config)
    assert str(caught.value).startswith(message)


def test_nothing_is_asked_without_an_option(pytester):
    assert not options.asked(pytester.parseconfig())
    assert not options.asked(pytester.parseconfig("--conformance-seed=1"))
    assert options.asked(pytester.parseconfig("--conformance"))
    assert options.asked(pytester.parseconfig("--conformance-update-baseline"))
    assert options.asked(pytester.parseconfig("--scheduler-class=a.B"))


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("PORT=6379", "6379"),
        ("PORT:=6379", 6379),
        ('PORT:="6379"', "6379"),
        ("PORT:={port}", "{port}"),
        ("NAMES:=[1, true]", [1, True]),
        ("URL=a:=b", "a:=b"),
    ],
)
def test_a_setting_has_the_type_that_it_is_given(given, value):
    (found,) = settings_of([given], "--queue-setting").values()
    assert (found, isinstance(found, str)) == (value, isinstance(value, str))


@pytest.mark.parametrize("given", ["PORT:=x", "PORT:=null", ":=1"])
def test_a_setting_that_is_no_json_is_one_line(given):
    with pytest.raises(UsageError, match=r"^--queue-setting"):
        settings_of([given], "--queue-setting")


def test_a_port_alone_is_a_number_and_words_are_filled_in_everywhere():
    places = {"{host}": "db", "{port}": "7"}
    assert filled("{port}", places) == 7
    assert filled("{host}:{port}", places) == "db:7"
    assert type(filled(Text("{port}"), places)) is str
    assert filled({"nodes": [["{host}", "{port}"]]}, places) == {"nodes": [["db", 7]]}


@pytest.mark.parametrize(
    ("value", "words", "is_address"),
    [
        ("redis://{user}@{host}:{port}", ["user", "host", "port"], "always"),
        ({"address": ["{host}", "{prot}"]}, ["host", "prot"], "always"),
        ("{user}", ["user"], "always"),
        ("{host}:requests", ["host"], "with a server"),
        ("{spider}:requests", ["spider"], "never"),
        ("{spider}", ["spider"], "never"),
        ('{"a": {"b": 1}}', [], "never"),
        (r"\d{3}", [], "never"),
        (7, [], "never"),
    ],
)
def test_words_in_braces_mean_an_address_or_something_that_the_class_knows(value, words, is_address):
    assert words_in(value) == words
    assert means_address(value, served=True) == (is_address != "never")
    assert means_address(value, served=False) == (is_address == "always")

"""Options come from the command line and from pyproject.toml, and every mistake is one line."""

import pytest

from queue_conformance import options


@pytest.fixture
def read(pytester):
    """Read the options of a command line, in a directory with this table in its pyproject.toml."""

    def read(*arguments, table=None):
        if table is not None:
            pytester.makepyprojecttoml(f"[tool.queue_conformance]\n{table}\n")
        return options.read(pytester.parseconfig(*arguments))

    return read


def test_classes_are_kept_in_order_and_once(read):
    found = read("--queue-class=a.B", "--priority-queue-class=a.C", "--queue-class=a.D", "--queue-class=a.B")
    assert found.classes == (("queue-class", "a.B"), ("queue-class", "a.D"), ("priority-queue-class", "a.C"))


def test_everything_has_a_default(read):
    assert read("--queue-class=a.B") == options.Options(classes=(("queue-class", "a.B"),))


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
    assert found.settings == {"REDIS_URL": "redis://localhost/0?a=b", "EMPTY": ""}
    assert found.claims == {"order": "LIFO"}
    assert found.level == "SHOULD"
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
    assert [path for _, path in found.classes] == ["a.B", "a.C"]
    assert found.settings == {"REDIS_URL": "redis://localhost", "PORT": "6379"}
    assert found.claims == {"persistent": "yes", "order": "FIFO"}
    assert (found.level, found.seed, found.in_process) == ("SHOULD", 3, True)


VALUES = {
    "queue-setting": '{ A = "b" }',
    "conformance-claim": '"peek"',
    "conformance-level": '"SHOULD"',
    "conformance-report": '"a.jsonl"',
    "conformance-seed": "1",
    "conformance-examples": "2",
    "conformance-time-limit": "3",
    "conformance-in-process": "true",
}


@pytest.mark.parametrize("name", [o.name for o in options.OPTIONS if o.name not in ("conformance", "queue-server")])
def test_every_option_can_be_set_in_the_table(read, name):
    default = options.Options(classes=(("queue-class", "a.B"),))
    value = VALUES.get(name, '"a.C"')
    arguments = ["--conformance"] if name in options.CLASS_OPTIONS else ["--queue-class=a.B"]
    assert read(*arguments, table=f"{name} = {value}") != default


def test_the_command_line_replaces_the_table(read):
    found = read("--queue-class=a.B", "--conformance-seed=1", table='queue-class = ["a.C"]\nconformance-seed = 2')
    assert [path for _, path in found.classes] == ["a.B"]
    assert found.seed == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--conformance-seed=x"], "--conformance-seed: write a whole number, 0 or more, not 'x'"),
        (["--conformance-seed=-1"], "--conformance-seed: write a whole number, 0 or more, not '-1'"),
        (["--conformance-examples=0"], "--conformance-examples: write a whole number, 1 or more, not '0'"),
        (["--conformance-time-limit=0"], "--conformance-time-limit: write a number of seconds above 0, not '0'"),
        (["--conformance-time-limit=nan"], "--conformance-time-limit: write a number of seconds above 0, not 'nan'"),
        (["--conformance-level=MAY"], "--conformance-level: write MUST or SHOULD, not 'MAY'"),
        (["--conformance-report=r.html"], "--conformance-report: write the name of a file that ends in .jsonl, not ['r.html']"),
        (["--conformance-report=no/r.jsonl"], "--conformance-report: there is no directory for 'no/r.jsonl'"),
        (["--queue-setting=A"], "--queue-setting: write NAME=VALUE, not 'A'"),
        (["--queue-setting==b"], "--queue-setting: write NAME=VALUE, not '=b'"),
        (["--conformance-claim=fast"], "--conformance-claim: unknown claim 'fast'"),
        (
            ["--queue-server=mysql"],
            "--queue-server: write redis, redis-server, fakeredis, or HOST:PORT of a running server, not 'mysql'",
        ),
        (["--conformance-claim=transient-error=Mine"], "--conformance-claim: the claim 'transient-error' names an exception"),
    ],
)
def test_a_wrong_option_is_explained(read, arguments, message):
    with pytest.raises(options.UsageError) as caught:
        read("--queue-class=a.B", *arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('queue-clas = "a.B"', "[tool.queue_conformance] has no key 'queue-clas'; did you mean 'queue-class'?"),
        ("conformance-seed = -1", "conformance-seed in [tool.queue_conformance]: write a whole number"),
        ("", "nothing to examine: give --queue-class, or name queue-class in [tool.queue_conformance]"),
        ("not toml", "pyproject.toml: "),
    ],
)
def test_a_wrong_table_is_explained(pytester, table, message):
    pytester.makepyprojecttoml("")
    config = pytester.parseconfig("--conformance")
    pytester.makepyprojecttoml(f"[tool.queue_conformance]\n{table}\n")
    with pytest.raises(options.UsageError) as caught:
        options.read(config)
    assert str(caught.value).startswith(message)


def test_nothing_is_asked_without_an_option(pytester):
    assert not options.asked(pytester.parseconfig())
    assert not options.asked(pytester.parseconfig("--conformance-seed=1"))
    assert options.asked(pytester.parseconfig("--conformance"))
    assert options.asked(pytester.parseconfig("--scheduler-class=a.B"))

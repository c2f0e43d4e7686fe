"""``queue-conformance upgrade`` asks each of two environments for what the other one keeps, and changes neither."""

import subprocess
import sys
from pathlib import Path

import pytest
from kit import ENVIRONMENT
from packaging.requirements import Requirement
from pages import DOCS

from queue_conformance import __main__ as command
from queue_conformance.config.targets import Target
from queue_conformance.config.values import UsageError
from queue_conformance.engine.kept_outcome import Outcome
from queue_conformance.upgrades import calls, environments, installed, scripts
from queue_conformance.upgrades.environments import Checkout, Environment
from queue_conformance.upgrades.installed import Installed, Listing
from queue_conformance.upgrades.upgrade import Passage

OLD = """
from queuelib.queue import FifoDiskQueue


class Queue(FifoDiskQueue):
    '''It stores what it is given, and knows nothing of versions.'''

    mark = b""

    def push(self, item):
        super().push(self.mark + item)

    def pop(self):
        item = super().pop()
        return item and item[len(self.mark):]
"""

NEW = OLD.replace('b""', 'b"2"').replace(
    "        return",
    """        if item and not item.startswith(self.mark):
            return self.pop()
        return""",
)
"""It drops in silence what the old one has stored."""


def git(*arguments, where):
    who = ("-c", "user.name=Author", "-c", "user.email=author@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *arguments], cwd=where, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository with two revisions of a queue, below ``src``."""
    directory = tmp_path_factory.mktemp("repository")
    (directory / "src" / "mine").mkdir(parents=True)
    git("init", "--quiet", where=directory)
    for text in (OLD, NEW):
        (directory / "src" / "mine" / "__init__.py").write_text(text)
        git("add", ".", where=directory)
        git("commit", "--quiet", "--message=another", where=directory)
    return directory


@pytest.fixture
def upgrade(repository, monkeypatch, capsys):
    """Run the command in the repository; return its exit status, its lines, and its errors."""
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])

    def run(*arguments):
        status = command.main(["upgrade", *arguments])
        said = capsys.readouterr()
        return status, said.out.splitlines(), said.err

    return run


@pytest.mark.further
def test_two_revisions_of_a_checkout(upgrade, repository, tmp_path):
    scripts = tmp_path / "scripts"
    status, lines, err = upgrade("--from=git:HEAD~", "--to=git:HEAD", "--queue-class=mine.Queue", f"--scripts={scripts}")
    assert (status, err) == (1, "")
    forth, forth_closed, _, back, back_closed, _, shown = lines
    assert forth == "forth: mine.Queue, written by git:HEAD~, read by git:HEAD"
    assert forth_closed.startswith("  closed: loses: 13 of 13 that waited do not come out: item 3")
    assert back == "back: mine.Queue, written by git:HEAD, read by git:HEAD~"
    assert back_closed.startswith("  closed: misreads: item 3")
    assert shown == f"what shows it, from nothing: sh {scripts}/forth.sh and sh {scripts}/back.sh"
    assert not git("status", "--porcelain", where=repository)
    script = (scripts / "forth.sh").read_text()
    subprocess.run(["sh", "-n", scripts / "forth.sh"], check=True)
    assert f"archive {git('rev-parse', 'HEAD~', where=repository).strip()} | tar" in script
    assert "#   closed: loses: 13 of 13 that waited do not come out" in script
    assert 'PYTHONPATH="$here/written-by-tree/src:' in script
    assert f"Scrapy=={installed_release('scrapy')}" in script


def written(where, place=""):
    """Write a script in the working directory; return its text, and the command that tells where it looks for the class."""
    ways = stub("git:1", checkout=Checkout("f00", place, Path.cwd())), stub("new")
    text = Path(scripts.write(where, Target("mine", "queue-class", "mine.Queue"), Passage("forth", *ways, [], []))).read_text()
    line = next(line for line in text.splitlines() if line.startswith("there="))
    return text, ["sh", "-c", f'{line}; printf %s "$there"']


@pytest.mark.parametrize(("where", "place"), [("", ""), ("shown/as it is", ""), ("shown", "src/")])
def test_a_script_below_the_class_finds_it_in_any_clone(tmp_path, monkeypatch, where, place):
    here, clone = tmp_path / "here", tmp_path / "a clone"
    (here / place).mkdir(parents=True)
    monkeypatch.chdir(here / place)
    text, told = written(Path(where), place)
    assert f'git -C "$there"{"/.." if place else ""} archive f00' in text
    here.rename(clone)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CDPATH", str(clone / place))  # which cd would look into, and tell where it went
    script = Path("a clone", place, where, "forth.sh")
    ended = subprocess.run([*told, script], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == (str(clone / place), "")


def test_a_script_elsewhere_knows_where_the_class_was(tmp_path, monkeypatch):
    (tmp_path / "it's here").mkdir()
    monkeypatch.chdir(tmp_path / "it's here")
    _, told = written(tmp_path / "elsewhere")
    assert subprocess.run(told, capture_output=True, text=True, cwd="/").stdout == str(tmp_path / "it's here")


def installed_release(name):
    return next(one.version for one in installed.distributions() if one.metadata["Name"].lower() == name)


def stub(given, *parts, notes=(), checkout=None):
    """An environment that keeps, and makes of what the other one kept what is given."""

    class Stub(Environment):
        def call(self, function, answer, **asked):
            return [*notes] if function == "keep" else [*parts]

    listing = Listing((3, 11), sys.implementation.cache_tag, {}, {})
    return Stub(given, Path(sys.executable), listing, Path(), checkout)


@pytest.mark.parametrize(
    ("outcome", "level", "status"),
    [
        ("RECOVERS", "SHOULD", 0),
        ("REFUSES", "MUST", 0),
        ("REFUSES", "SHOULD", 1),
        *((outcome.name, "MUST", 1) for outcome in Outcome if outcome.harms),
    ],
)
@pytest.mark.parametrize("way", ["forth", "back"])
def test_the_exit_status_is_that_of_the_worst(upgrade, monkeypatch, tmp_path, outcome, level, status, way):
    bad, good = ("closed", outcome, "why"), ("closed", "RECOVERS", "")
    found = {
        "old": stub("old", bad if way == "back" else good, notes=["a kill"]),
        "new": stub("new", bad if way == "forth" else good),
    }
    monkeypatch.setattr(environments, "find", lambda given, *_: found[given])
    arguments = ("--from=old", "--to=new", "--queue-class=mine.Queue", f"--level={level}", f"--scripts={tmp_path}")
    ended, lines, err = upgrade(*arguments)
    assert (ended, err) == (status, "")
    recovers, worse = "  closed: recovers all", f"  closed: {Outcome[outcome]}: why"
    assert lines[1] == (worse if way == "forth" else recovers)
    assert lines[2] == "  not asked for: a kill"
    assert lines[4] == (worse if way == "back" else recovers)
    assert [file.name for file in tmp_path.iterdir()] == [] if outcome == "RECOVERS" else [f"{way}.sh"]


def test_claims_are_made_in_both_environments_and_stand_in_the_script(upgrade, monkeypatch, tmp_path):
    asked = []

    def call(self, function, answer, **described):
        asked.extend([described["claims"]] if function == "keep" else [])
        return [] if function == "keep" else [("closed", "LOSES", "why")]

    monkeypatch.setattr(Environment, "call", call)
    monkeypatch.setattr(
        environments, "find", lambda given, *_: Environment(given, Path(sys.executable), Listing((3, 11), "", {}, {}), Path())
    )
    claims = ("--conformance-claim=request=mine.Request", "--conformance-claim=persistent")
    assert upgrade("--from=old", "--to=new", "--queue-class=mine.Queue", *claims, f"--scripts={tmp_path}")[0] == 1
    assert asked == [{"request": "mine.Request", "persistent": "yes"}] * 2
    assert f"--queue-class=mine.Queue {claims[0]} {claims[1]}=yes)" in (tmp_path / "forth.sh").read_text()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("git:nowhere", "git:nowhere: there is no such commit"),
        ("git:--all", "git:--all: there is no such commit"),
        ("/nowhere", "/nowhere is not there"),
        ("src", "src is no virtual environment: it has no bin/python"),
        ("src/mine/__init__.py", "src/mine/__init__.py is no interpreter of Python: Permission denied"),
        ("python3.99", "python3.99 is not on the path"),
        ("/bin/false", "/bin/false is no interpreter of Python 3.11 or later: it says nothing"),
        ("a b !", "a b ! is no environment: write an interpreter, a virtual environment, "),
    ],
)
def test_what_is_no_environment_is_one_line(upgrade, given, said):
    status, lines, err = upgrade(f"--from={given}", "--queue-class=mine.Queue")
    assert (status, lines, err.count("\n")) == (2, [], 1)
    assert err.startswith(f"queue-conformance: upgrade: {said}")


def test_a_class_that_cannot_be_used_there_is_one_line(upgrade):
    status, lines, err = upgrade("--from=git:HEAD~", "--queue-class=mine.NoQueue")
    assert (status, lines, err.count("\n")) == (2, [], 1)
    assert err.startswith("queue-conformance: upgrade: git:HEAD~: mine has no class 'NoQueue'")


def test_a_class_of_another_place_is_not_taken_for_that_of_the_checkout(tmp_path):
    with pytest.raises(UsageError, match="queuelib is not in that commit; it would come from "):
        calls.kept(str(tmp_path), "queuelib.queue.FifoDiskQueue", within=str(tmp_path))


@pytest.mark.parametrize(
    ("has", "said"), [({}, "has no scrapy; scrapy>=2.13 is needed"), ({"scrapy": "2.11.0"}, "has scrapy 2.11.0; scrapy>=2.13")]
)
def test_without_what_it_tests_the_kit_works_nowhere(monkeypatch, tmp_path, has, said):
    found = {name: Installed(name, version) for name, version in {"queuelib": "1.9.0", **has}.items()}
    monkeypatch.setattr(environments, "_listing", lambda *_: Listing((3, 11), sys.implementation.cache_tag, found, {}))
    with pytest.raises(UsageError, match=said):
        environments.find(sys.executable, tmp_path, tmp_path)


def test_requirements_are_installed_once(monkeypatch, tmp_path):
    run = []

    def install(given, command):
        run.append([*map(str, command)])
        (tmp_path / "kept" / environments._name(given)).mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(environments, "_run", install)
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    first = environments.install("scrapy==2.18.0 twisted<26", tmp_path / "kept", ["queuelib>=1.6"])
    assert run[1][1:4] == ["-m", "pip", "install"]
    assert run[1][-3:] == ["scrapy==2.18.0", "twisted<26", "queuelib>=1.6"]
    assert environments.install("scrapy==2.18.0 twisted<26", tmp_path / "kept", ["queuelib>=1.6"]) == first
    assert len(run) == 2


def test_what_an_environment_has_itself_is_not_lent(tmp_path):
    has = {"pytest": Installed("pytest", "8.1.1"), "hypothesis": Installed("hypothesis", "6.1")}
    installed.link_kit(tmp_path / "lent")
    installed.link_needed(tmp_path / "lent", Listing((3, 11), "", has, {}), {"scrapy", "queuelib"})
    lent = {path.name for path in (tmp_path / "lent").iterdir()}
    assert {"queue_conformance", "hypothesis", "sortedcontainers"} <= lent, "hypothesis is too old"
    assert not {"pytest", "_pytest", "scrapy", "queuelib", "twisted"} & lent


def test_what_is_compiled_for_this_interpreter_is_not_lent_to_another(monkeypatch, tmp_path):
    run = []
    has = {name: Installed(name, "99") for name in ("scrapy", "queuelib", "packaging", "jinja2", "msgspec")}
    monkeypatch.setattr(environments, "_listing", lambda *_: Listing((3, 99), "cpython-399", has, {}))
    monkeypatch.setattr(environments, "_run", lambda given, command: run.append([*map(str, command)]))
    found = environments.find(sys.executable, tmp_path, tmp_path)
    assert [path.name for path in found.lent.iterdir()] == ["queue_conformance"]
    (command,) = run
    assert command[-4:-2] == ["--target", str(found.lent)]
    assert {word.partition(">")[0] for word in command[-2:]} == {"pytest", "hypothesis"}


def test_a_distribution_is_installed_from_where_it_came():
    assert Installed("a", "1.0").requirement == "a==1.0"
    assert Installed("a", "1.0", origin={"url": "file:///a"}).requirement == "a @ file:///a"
    origin = {"url": "https://example.com/a", "vcs_info": {"vcs": "git", "commit_id": "f00"}}
    assert Installed("a", "1.0", origin=origin).requirement == "a @ git+https://example.com/a@f00"


def test_what_a_distribution_needs():
    needs = ("B>1", "c; python_version < '3'", "d; extra == 'more'")
    found = {
        "a": Installed("a", "1", needs),
        "b": Installed("B", "2", ("a",)),
        "c": Installed("c", "1"),
        "d": Installed("d", "1"),
    }
    listing = Listing((3, 11), sys.implementation.cache_tag, found, {})
    assert [one.name for one in listing.needed_by(["A", "nothing"])] == ["a", "B"]
    assert listing.lacks(Requirement("b>=3"))
    assert listing.lacks(Requirement("e"))
    assert not listing.lacks(Requirement("b>=1"))


def test_the_source_directory_of_a_checkout_is_first_on_its_path(tmp_path):
    (tmp_path / "place" / "src").mkdir(parents=True)
    checkout = Checkout("f00", "place/", tmp_path)
    assert checkout.path == [tmp_path / "place" / "src", tmp_path / "place"]
    assert Checkout("f00", "", tmp_path).path == [tmp_path]


@pytest.mark.further
def test_what_the_page_shows_of_two_releases_happens(upgrade, tmp_path):
    """It installs them, which takes a minute; test_docs does not run it."""
    page = (DOCS / "howto-upgrade.md").read_text("utf-8")
    block = page.partition("$ queue-conformance upgrade ")[2].partition("$ echo")[0]
    shown, _, said = block.partition("Scheduler\n")
    arguments = f"{shown}Scheduler".replace("\\\n", " ").split()
    status, lines, _ = upgrade(*arguments, f"--scripts={tmp_path}")
    assert status == 1
    for line in said.splitlines():
        assert any(found.startswith(line.removesuffix("...")) for found in lines), line

"""The action and the workflows of the documentation do in CI what they say: their scripts are run here as CI would."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from actions import Runner, evaluate, executable, filled, load
from kit import further

from queue_conformance import __version__
from queue_conformance.reports import jsonl
from queue_conformance.specification import Level

ROOT = Path(__file__).parent.parent
ACTION = load(ROOT / "action.yml")
GITHUB = load(ROOT / "docs" / "ci" / "github.yml")
GITLAB = load(ROOT / "docs" / "ci" / "gitlab.yml")
SCRIPTS = {step["name"]: step["run"] for step in ACTION["runs"]["steps"] if "run" in step}

QUEUES = """
from queue_reference.memory import FifoMemoryQueue

class Right(FifoMemoryQueue):
    pass

class Failing(FifoMemoryQueue):
    def __len__(self):
        return super().__len__() + 1

class Rude(FifoMemoryQueue):  # breaks a SHOULD rule
    def close(self):
        self._queue = None
        self.close = None
"""

QUICK = "-k 'queue.len.count or queue.pop.empty-none and not machine'"
"""Arguments for a run that is over soon."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Return what makes a repository with queues and with a pyproject.toml that names one of them."""

    def make(name="Right"):
        directory = tmp_path_factory.mktemp("job") / "work"
        directory.mkdir()
        (directory / "queues.py").write_text(QUEUES)
        (directory / "pyproject.toml").write_text(f'[tool.queue_conformance]\nqueue-class = ["queues.{name}"]\n')
        return directory

    return make


def job_of(directory, event=None, **inputs):
    """Play the action in a directory."""
    runner = Runner(directory, ACTION, event or {})
    runner.run(**inputs)
    return runner


@pytest.fixture(scope="module")
def right(once, workspace):
    """The action, run on a right queue with nothing said but what to install."""
    return once("right-job", lambda: job_of(workspace(), install=". scrapy==2.19.*"))


@pytest.fixture(scope="module")
def failed(once, workspace):
    """The action, run on a broken queue."""
    return once("broken-job", lambda: job_of(workspace("Failing"), args="-k machine"))


def uses(runner, action):
    """Return what an action of GitHub was given, or ``None``."""
    return next((given for name, given in runner.used.items() if name.startswith(f"{action}@")), None)


# --- What comes of it ------------------------------------------------------------------------------------------------


def test_a_right_queue_passes(right):
    assert right.status == 0, right.printed
    assert right.outputs == {"verdict": "CONFORMANT", "report": str(right.workspace / "queue-conformance")}
    report = jsonl.read(right.workspace / "queue-conformance" / "report.jsonl")
    assert [found.path for found in report.implementations] == ["queues.Right"]
    assert {file.name for file in (right.workspace / "queue-conformance").iterdir()} == {
        f"report.{form}" for form in ("jsonl", "html", "xml", "md")
    }
    assert "CONFORMANT" in (right.workspace.parent / "summary.md").read_text()  # the summary of the job


def test_a_broken_queue_fails_the_job_and_its_report_is_kept(failed):
    assert failed.status == 1
    assert failed.outputs["verdict"] == "NON-CONFORMANT"
    assert uses(failed, "actions/upload-artifact") == {
        "name": "queue-conformance",
        "path": str(failed.workspace / "queue-conformance"),
        "if-no-files-found": "ignore",
    }
    report = jsonl.read(failed.workspace / "queue-conformance" / "report.jsonl")
    assert report.implementations[0].failed_rules(Level.MUST)


def test_what_failed_is_kept_for_the_next_run(failed):
    saved = uses(failed, "actions/cache/save")
    restored = uses(failed, "actions/cache/restore")
    assert saved == {"path": restored["path"], "key": restored["key"]}
    first, second = saved["path"].splitlines()
    assert any((failed.workspace / first / "d" / "queue-conformance-examples").iterdir())
    assert second == "./.hypothesis"
    assert all(restored["key"].startswith(prefix) for prefix in restored["restore-keys"].splitlines())


@pytest.mark.parametrize("arguments", ["--queue-class=queues.Absent", "--conformance-seed=x", "--no-such-option"])
def test_an_error_is_no_verdict_even_if_an_old_report_is_there(workspace, right, arguments):
    directory = workspace()
    shutil.copytree(right.workspace / "queue-conformance", directory / "queue-conformance")
    runner = job_of(directory, args=f"{QUICK} {arguments}")
    assert runner.status == 4
    assert runner.outputs["verdict"] == "ERROR"


@pytest.mark.further
def test_of_several_classes_the_worst_counts(workspace):
    runner = job_of(workspace(), queue_class="queues.Right\nqueues.Failing", args=QUICK)
    assert (runner.status, runner.outputs["verdict"]) == (1, "NON-CONFORMANT")
    report = jsonl.read(Path(runner.outputs["report"]) / "report.jsonl")
    assert [found.path for found in report.implementations] == ["queues.Right", "queues.Failing"]


@pytest.mark.further
def test_the_level_decides_what_fails_the_job(workspace):
    inputs = {"queue_class": "queues.Rude", "args": "-k 'queue.close.twice or queue.pop.fifo and not machine'"}
    assert job_of(workspace(), **inputs).status == 0
    assert job_of(workspace(), **inputs, level="SHOULD").status == 1


def test_pytest_runs_where_it_is_asked_to(workspace):
    directory = workspace()
    inner = directory / "packages" / "queue"
    inner.mkdir(parents=True)
    for name in ("queues.py", "pyproject.toml"):
        (directory / name).rename(inner / name)
    runner = job_of(directory, working_directory="packages/queue", report="out/reports", badge="out/badge.svg", args=QUICK)
    assert runner.status == 0, runner.printed
    assert runner.outputs["report"] == str(inner / "out" / "reports")
    assert (inner / "out" / "badge.svg").is_file()


# --- What is asked of pip and pytest ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "installed"),
    [
        ({}, ["/actions/kit"]),
        ({"extras": "redis,qcrawl", "install": ". scrapy==2.13.*"}, ["/actions/kit[redis,qcrawl]", ".", "scrapy==2.13.*"]),
        ({"version": "0.1.0"}, ["pytest-queue-conformance==0.1.0"]),
        ({"version": ">=0.1,<0.3", "extras": "redis"}, ["pytest-queue-conformance[redis]>=0.1,<0.3"]),
    ],
)
def test_the_kit_is_installed_in_the_release_that_is_asked_for(workspace, inputs, installed):
    directory = workspace()
    (directory / "scrapy==2.13.9").touch()  # what a shell would take for a match
    runner = Runner(directory, {**ACTION, "runs": {"steps": ACTION["runs"]["steps"][:2]}}, {})
    runner.run(**inputs)
    assert runner.installed == installed
    assert uses(runner, "actions/setup-python") == {"python-version": "3.13"}


def asked(directory, **inputs):
    """Return the arguments that pytest gets."""
    runner = Runner(directory, ACTION, {})
    executable(
        runner.tools / "python",
        f'#!/bin/sh\nif [ "$3" = pytest ]; then shift 3; printf "%s\\n" "$@" > {directory}/asked; else echo PARTIAL; fi\n',
    )
    runner.run(**inputs)
    assert runner.status == 0, runner.printed
    assert runner.outputs["verdict"] == "PARTIAL"
    return (directory / "asked").read_text().splitlines()


def test_every_input_reaches_pytest(workspace):
    found = asked(
        workspace(),
        queue_class="a.A b.B",
        priority_queue_class="c.C",
        scheduler_class="d.D",
        dupefilter_class="e.E",
        spider_state_class="f.F",
        level="SHOULD",
        baseline="known.toml",
        report="out",
        badge="out/badge.json",
        args="-k 'queue.pop and not machine' -v --queue-setting=A=\"1 2\" *",
    )
    assert found == [
        *("--queue-class=a.A", "--queue-class=b.B", "--priority-queue-class=c.C", "--scheduler-class=d.D"),
        *("--dupefilter-class=e.E", "--spider-state-class=f.F", "--conformance-level=SHOULD"),
        "--conformance-baseline=known.toml",
        *(f"--conformance-report=out/report.{form}" for form in ("jsonl", "html", "xml", "md")),
        "--conformance-report=out/badge.json",
        *("-k", "queue.pop and not machine", "-v", "--queue-setting=A=1 2", "*"),
    ]


def test_without_a_class_pyproject_toml_names_them(workspace):
    assert asked(workspace())[0] == "--conformance"


def test_no_input_is_run_as_a_script(workspace):
    directory = workspace()
    evil = "$(touch hacked) `touch hacked` ;touch hacked; \" ' && touch hacked"
    given = {name.replace("-", "_"): evil for name in ACTION["inputs"] if name not in ("working-directory", "python", "args")}
    Runner(directory, ACTION, {}).run(**given)
    Runner(directory, ACTION, {}).run(args="$(touch hacked) ; touch hacked")
    assert not list(directory.parent.rglob("hacked"))


def test_the_forms_of_reports_that_are_asked_for_exist(right):
    directory = Path(right.outputs["report"])
    assert (directory / "report.html").read_text().lstrip().startswith("<!")
    assert (directory / "report.xml").read_text().lstrip().startswith("<")
    assert "CONFORMANT" in (directory / "report.md").read_text()


# --- The comment -----------------------------------------------------------------------------------------------------

PULL_REQUEST = {"github.event_name": "pull_request", "github.event.pull_request.number": "12"}

GH = """#!/bin/sh
printf '%s ' "$@" >> {log}
echo >> {log}
for argument; do case $argument in body=@*) cp "${{argument#body=@}}" {body} ;; esac; done
case "$*" in *--paginate*) {known} ;; *) {answer} ;; esac
"""


def commented(workspace, known="true", answer="true", report="# Queue conformance\n", event=PULL_REQUEST, comment="true"):
    """Play the comment on a report; return the runner, what gh was asked, and the body of the comment."""
    step = next(step for step in ACTION["runs"]["steps"] if step["name"] == "Comment on the pull request")
    directory = workspace()
    (directory / "report.md").write_text(report)
    log, body = directory / "log", directory / "body"
    made = {"name": "before", "id": "run", "run": f'echo "report={directory}" >> "$GITHUB_OUTPUT"'}
    runner = Runner(directory, {**ACTION, "runs": {"steps": [made, step]}, "outputs": {}}, event)
    executable(runner.tools / "gh", GH.format(log=log, body=body, known=known, answer=answer))
    runner.run(comment=comment, name='a "name"')
    return runner, log.read_text().splitlines() if log.exists() else [], body.read_text() if body.exists() else ""


def test_the_first_comment_is_added(workspace):
    runner, asked, body = commented(workspace)
    assert runner.status == 0, runner.printed
    assert [line.split(" --")[0] for line in asked] == ["api repos/me/my-queue/issues/12/comments"] * 2
    assert "--method POST" in asked[1]
    assert body == '<!-- pytest-queue-conformance: a "name" -->\n# Queue conformance\n'


def test_a_later_comment_replaces_it(workspace):
    runner, asked, body = commented(workspace, known="echo 345; echo 678")
    assert runner.status == 0
    assert asked[1].startswith("api repos/me/my-queue/issues/comments/345 --method PATCH")
    assert body


@pytest.mark.parametrize("refusal", [{"known": "exit 1"}, {"answer": "exit 1"}])
def test_a_comment_that_is_not_permitted_is_a_warning(workspace, refusal):
    runner, _, _ = commented(workspace, **refusal)
    assert runner.status == 0
    assert runner.printed.startswith("::warning title=Queue conformance::The pull request could not be commented on")


def test_a_long_report_is_cut_in_whole_lines(workspace):
    _, _, body = commented(workspace, report="äöü and so on\n" * 6000)
    assert len(body.encode()) < 65536
    assert set(body.splitlines()[1:-2]) == {"äöü and so on"}
    assert body.splitlines()[-1] == '_The whole report is in the artefact a "name"._'


@pytest.mark.parametrize("but", [{"event": {}}, {"comment": "false"}])
def test_nothing_is_said_where_nobody_asked(workspace, but):
    assert commented(workspace, **but)[1] == []


# --- The files themselves --------------------------------------------------------------------------------------------


def scripts():
    """Return every script of the action and of the workflows, by a name."""
    found = {f"action, {name}": text for name, text in SCRIPTS.items()}
    for name, job in GITHUB["jobs"].items():
        found |= {f"github, {name}, {step['name']}": step["run"] for step in job["steps"] if "run" in step}
    return found


@pytest.mark.parametrize("name", scripts())
def test_no_script_holds_an_expression_and_all_stop_at_errors(name):
    assert "${{" not in scripts()[name]
    assert scripts()[name].startswith("set -euo pipefail\n")


OWN = {"gitlab": "\n".join(GITLAB["conformance"]["script"]), ".ci/run": (ROOT / ".ci" / "run").read_text("utf-8")}
"""What is no script of an action, and is looked at all the same."""


@pytest.mark.parametrize("name", [*scripts(), *OWN])
def test_shellcheck_finds_nothing(name):
    beside = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if beside is None:
        pytest.skip("needs shellcheck")
    text = (scripts() | OWN)[name]
    ended = subprocess.run([beside, "--shell=bash", "-"], input=text, text=True, capture_output=True)
    assert ended.stdout == ""
    assert ended.returncode == 0


def test_other_actions_are_pinned_by_their_major_version():
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    used += [step["uses"] for job in GITHUB["jobs"].values() for step in job["steps"] if "uses" in step]
    pinned = [name for name in used if re.fullmatch(r"actions/[\w/-]+@v\d+", name)]
    assert [name for name in used if name not in pinned] == [f"OWNER/pytest-queue-conformance@v{__version__}"]
    by_name = {name.partition("@")[0]: name for name in pinned}
    assert sorted(set(pinned)) == sorted(by_name.values())  # each in one version


@pytest.mark.parametrize("file", sorted((ROOT / ".github" / "workflows").iterdir()), ids=lambda file: file.name)
def test_the_workflows_of_this_project_run_what_there_is(file):
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for job in load(file)["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        commands = [step["run"] for step in job["steps"] if "run" in step] + matrix.get("command", [])
        asked = " ".join(re.findall(r"^make ([a-z -]+)$", "\n".join(commands), re.MULTILINE)).split()
        assert {*asked, *matrix.get("target", [])} <= there
        assert all(os.access(ROOT / command, os.X_OK) for command in commands if command.startswith(".ci/"))


def test_the_guide_lists_every_input_and_output():
    guide = (ROOT / "docs" / "ci-github.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*?) \|", guide, re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`([\w-]+)`", row)) == sorted(ACTION["inputs"])
    assert all(f"`{name}`" in guide for name in ACTION["outputs"])


def test_the_guides_show_the_workflows():
    for host in ("github", "gitlab"):
        assert f"{{literalinclude}} ci/{host}.yml" in (ROOT / "docs" / f"ci-{host}.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("expression", "value"),
    [("inputs.a != ''", "true"), ("always() && inputs.a == 'x' && github.b == 'x'", "false"), ("inputs.a", "x")],
)
def test_expressions_mean_what_they_mean_on_github(expression, value):
    assert evaluate(expression, {"inputs.a": "x", "github.b": "y"}) == value


# --- The workflows of the documentation ------------------------------------------------------------------------------


def test_the_workflow_for_github_runs(workspace):
    job = GITHUB["jobs"]["conformance"]
    entry = {"matrix.scrapy": job["strategy"]["matrix"]["scrapy"][-1]}
    (step,) = [step for step in job["steps"] if step["uses"].startswith("OWNER/")]
    inputs = {name.replace("-", "_"): filled(value, entry) for name, value in step["with"].items()}
    runner = job_of(workspace(), **inputs)
    assert runner.status == 0, runner.printed
    assert runner.installed == ["/actions/kit", ".", "scrapy==2.19.*"]
    uploaded = uses(runner, "actions/upload-artifact")
    badge = GITHUB["jobs"]["badge"]["steps"]
    assert uploaded["name"] == badge[1]["with"]["name"]
    assert (Path(uploaded["path"]) / "badge.svg").is_file()
    assert inputs["comment"] == "true"
    assert filled(step["with"]["comment"], {"matrix.scrapy": "2.13"}) == "false"


def test_the_badge_is_published_on_a_branch_of_its_own_again_and_again(tmp_path):
    (step,) = [step for step in GITHUB["jobs"]["badge"]["steps"] if "run" in step]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*arguments, directory=tmp_path):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
        return subprocess.run(command, cwd=directory, env=environment, check=True, capture_output=True, text=True).stdout

    git("init", "--bare", "--initial-branch=main", "origin")
    git("clone", "origin", "author")
    (tmp_path / "author" / "queues.py").write_text(QUEUES)
    git("add", ".", directory=tmp_path / "author")
    git("commit", "-m", "Begin", directory=tmp_path / "author")
    git("push", "origin", "HEAD:main", directory=tmp_path / "author")
    for colour in ("green", "red"):
        checkout = tmp_path / colour
        git("clone", "--branch=main", "--depth=1", f"file://{tmp_path}/origin", checkout.name)
        (checkout / "reports").mkdir()
        (checkout / "reports" / "badge.svg").write_text(f"<svg>{colour}</svg>")
        subprocess.run(["bash", "-c", step["run"]], cwd=checkout, env=environment, check=True)
        origin = tmp_path / "origin"
        assert git("show", "badges:conformance.svg", directory=origin) == f"<svg>{colour}</svg>"
        assert git("ls-tree", "--name-only", "badges", directory=origin) == "conformance.svg\n"


@pytest.mark.parametrize(("name", "status"), [("Right", 0), *further(("Failing", 1))])
def test_the_job_for_gitlab_runs(workspace, name, status):
    directory = workspace(name)
    job = GITLAB["conformance"]
    runner = Runner(directory, ACTION, {})  # for its tools
    (entries,) = job["parallel"]["matrix"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "PYTEST_"))}
    environment |= {"CI": "true", "CI_PROJECT_DIR": str(directory), "SCRAPY": entries["SCRAPY"][-1]}
    environment["PATH"] = runner.path
    script = "\n".join(["set -eo pipefail", *job["script"]])
    ended = subprocess.run(["bash", "-c", script], cwd=directory, env=environment, capture_output=True, text=True)
    assert ended.returncode == status, ended.stdout
    installed = (directory.parent / "pip").read_text().splitlines()[3:]
    assert installed == [".", "pytest-queue-conformance", "scrapy==2.19.*"]
    assert (directory / job["artifacts"]["reports"]["junit"]).is_file()
    (kept,) = job["artifacts"]["paths"]
    assert jsonl.read(directory / kept / "report.jsonl").implementations
    cached, _ = job["cache"]
    assert (directory / cached["paths"][0]).is_dir()
    assert cached["when"] == job["artifacts"]["when"] == "always"

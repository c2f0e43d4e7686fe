"""What the documentation shows is what a reader gets: every block of every page is run."""

import json
import re

import pytest
from kit import NO_POSTGRESQL, RELEASES, further
from pages import DOCS, PageError, blocks
from parts import fill
from user import ROOT

from queue_conformance.config import options
from queue_conformance.faults import servers
from queue_conformance.specification.kinds import all_kinds

PAGES = sorted(file for file in DOCS.rglob("*.md") if "_build" not in file.parts)
NAMES = [str(file.relative_to(DOCS)) for file in PAGES]

WITH_BLOCKS = [name for name in NAMES if any(blocks(name, (DOCS / name).read_text("utf-8")))]
STOOD_FOR = ("index.md", "tutorial-postgresql.md", "servers/postgresql.md")
"""What takes long: one shows what ``make demo`` does, the others what is shown of Redis, too."""

SHOWN = json.loads((DOCS / "matrix" / "verdicts.json").read_text("utf-8"))["releases"]
OTHERS = [name for name in ("scrapy", "queuelib") if SHOWN[name] != RELEASES[name]]

EXEMPT: dict[str, str] = {
    "ci-github.md": "it is Markdown",
    "howto-upgrade.md": "it installs two releases, which takes a minute",
    "matrix.md": "tests everything, which takes minutes",
    "releases.md": "tests everything, which takes an hour",
    "upgrades.md": "it installs twenty environments, which takes half an hour",
    "upstream/pending-lost.md": "it is Markdown",
    "upstream/seen-forgotten.md": "it is Markdown",
    "upstream/state-emptied.md": "it is Markdown",
}
"""The blocks that are not run: page, and why."""


@pytest.mark.skipif(bool(OTHERS), reason=f"the pages show another release of {' and '.join(OTHERS)}")
@pytest.mark.parametrize("name", [*(name for name in WITH_BLOCKS if name not in STOOD_FOR), *further(*STOOD_FOR)])
def test_what_a_page_shows_happens(page, name):
    if name.endswith("postgresql.md") and NO_POSTGRESQL:
        pytest.skip(NO_POSTGRESQL)
    page.run(name, (DOCS / name).read_text("utf-8"))
    assert [reason for _, reason in page.exempt] == [reason for where, reason in EXEMPT.items() if where == name]
    if page.missing:
        pytest.skip(f"all but what {', '.join(page.missing)}")


def test_commands_stand_where_they_are_run():
    files = [*ROOT.glob("*.md"), *(ROOT / "tests").rglob("*.md"), *(ROOT / "examples").rglob("*.*")]
    command = re.compile(rb"```console|^ *\$ \w", re.MULTILINE)
    shown = {file.relative_to(ROOT).as_posix() for file in files if file.is_file() and command.search(file.read_bytes())}
    assert shown <= {"README.md", "CONTRIBUTING.md"}, "test_readme runs these, and nothing runs what other files show"


def test_the_options_in_the_text_exist():
    text = "\n".join(file.read_text("utf-8") for file in PAGES)
    named = set(re.findall(r"--((?:queue|priority|scheduler|dupefilter|spider-state|conformance)[\w-]*)", text))
    assert len(named) > 5
    assert named <= {option.name for option in options.OPTIONS}


def test_each_kind_and_each_server_has_a_page():
    text = "\n".join(file.read_text("utf-8") for file in PAGES)
    assert {kind for kind in all_kinds() if kind.of_the_kit} == set(re.findall(r"^<!-- generated: kind (\S+) -->$", text, re.M))
    shown = {name for line in re.findall(r"^<!-- generated: servers (.+) -->$", text, re.M) for name in line.split()}
    assert shown == {"redis-server", "fakeredis", "postgresql", "command", "HOST:PORT"}
    assert set(servers._OWN) <= shown | {"redis"}, "which is one of two"


@pytest.mark.parametrize("name", NAMES)
def test_what_a_page_is_given_is_what_the_kit_says_now(name):
    text = (DOCS / name).read_text("utf-8")
    assert fill(text) == text, "make parts"


def test_pages_are_whole_where_no_builder_reads_them():
    for name, file in zip(NAMES, PAGES, strict=True):
        text = re.sub(r"`[^`\n]*`", "code", re.sub(r"^(`{3,}).*?^\1$", "", file.read_text("utf-8"), flags=re.M | re.S))
        assert not re.search(r"^%|^:::|^\([\w.-]+\)=|\]\{|\[\]\(", text, re.M), name
        for page, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
            target = file.parent / page if page else file
            assert target.exists(), f"{name}: {page}"
            assert not anchor or anchor in anchors(target.read_text("utf-8")), f"{name}: {page}#{anchor}"


def anchors(text):
    """The anchors of the headings of a page, as GitHub makes them."""
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.M)}


QUEUE = """```{code-block} python
:caption: a/b.py

import os


class Queue:
    def push(self):
        return 1

    def pop(self):
        return 2
```
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```console\n$ echo one two\none three\n```", r"`echo one two` prints\s+one two\s+and the page shows\s+one three"),
        ("```console\n$ false\n```", "ended with 1, which the page does not say"),
        ("```console\n$ false\n$ true\n```", "ended with 1, which the page does not say"),
        ("```console\n$ false\n$ echo $?\n2\n```", "the exit status is 1, and the page says 2"),
        ("```console\n$ python -c 'import warnings; warnings.warn(str(1))'\n```", "warns:\\s+<string>:1: UserWarning: 1"),
        ("```console\npytest\n```", "a command begins with"),
        ("```console\n$ pip install pytest-queue-conformance[reds]\n```", "no such extra: reds"),
        ("```console\n$ pip install something\n```", "something else: something"),
        ("```python\nraise SystemExit(3)\n```", "the script ended with 3"),
        ("```{code-block} python\n:caption: a.py\n\nclass\n```", "invalid syntax"),
        ("```toml\n[a\n```", "Expected ']'"),
        ("```toml\n[tool.queue_conformance]\nqueue-clas = 1\n```", "has no key 'queue-clas'; did you mean 'queue-class'"),
        ("```json\n{\n```", "Expecting"),
        ("```yaml\nservices: {a: {image: b, comand: c}}\n```", "'comand' was unexpected"),
        (
            "```yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {}}\n```",
            "'selector' is a required property",
        ),
        ("```\nx\n```", "nothing is known of a block of no language"),
        ("```text\nx\n```", "nothing is known of a block of text"),
        (":::{code-block} python\n1/0\n:::", "write {code-block} between backticks"),
        ("```{literalinclude} conf.py\n:language: yaml\n```", "expected '<document start>'"),
        ("```{figure} x\n```", "nothing is known of a block of {figure}"),
        (f"{QUEUE}```{{code-block}} python\n:caption: a/b.py, in Queue\n\npush = 1\n```", "line 1 .* is no method"),
        (f"{QUEUE}```{{code-block}} python\n:caption: a/b.py, in Stack\n\ndef f(): ...\n```", "no class 'Stack'"),
        (f"{QUEUE}```{{code-block}} python\n:caption: a/b.py, below\n\n1\n```", "a part called 'below'"),
    ],
)
def test_a_page_that_is_wrong_is_found_out(page, text, message):
    with pytest.raises(PageError, match=rf"^page:\d+: [\s\S]*(?:{message})"):
        page.run("page", text)


def test_what_is_printed_may_be_shortened(page):
    page.run("page", "```console\n$ printf 'a\\nb\\nc\\nd\\n'; exit 3\na\n...\nd\n$ echo $?\n3\n$ true\n```")


def test_a_block_may_be_exempt_with_a_reason(page):
    page.run("page", "<!-- not run: it is poetry -->\n```text\nroses\n```\n")
    assert page.exempt == [("page:2", "it is poetry")]


def test_a_run_may_be_shorter_than_a_reader_has_it(page):
    text = '<!-- briefly: -k "a or b" -->\n```console\n$ echo "$PYTEST_ADDOPTS" --conformance\n...-k "a or b" ...\n```\n'
    page.brief = True
    page.run("page", text)
    page.brief = False
    with pytest.raises(PageError):
        page.run("page", text)


def test_a_block_may_need_a_program_and_the_others_are_run(page):
    page.run("page", "<!-- needs: no-such-program -->\n```console\n$ false\n```\n<!-- needs: bash -->\n```console\n$ true\n```\n")
    assert page.missing == ["page:2 needs no-such-program"]


def test_parts_of_a_file_are_replaced(page):
    page.run(
        "page",
        f"""{QUEUE}
```{{code-block}} python
:caption: a/b.py, at the top

import sys
import os
```

```{{code-block}} python
:caption: a/b.py, in Queue

    def push(self):
        return sys.argv

    @property
    def size(self):
        return 3
```
""",
    )
    assert (page.directory / "a" / "b.py").read_text() == (
        "import sys\nimport os\n\n\n"
        "class Queue:\n"
        "    def push(self):\n        return sys.argv\n\n"
        "    def pop(self):\n        return 2\n\n"
        "    @property\n    def size(self):\n        return 3\n"
    )

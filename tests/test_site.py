"""The documentation builds without a warning and without a network, and has a section for every rule."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from pages import DOCS

from queue_conformance.config.options import OPTIONS
from queue_conformance.specification import load

pytest.importorskip("sphinx", reason="needs the dependency group docs")
pytest.importorskip("myst_parser", reason="needs the dependency group docs")
pytest.importorskip("furo", reason="needs the dependency group docs")

pytestmark = pytest.mark.further  # to build the pages takes longer than to look at them


class Page(HTMLParser):
    """Collects the ids of a page, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.ids = set()
        self.loads = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.add(found["id"])
        name = {"script": "src", "img": "src", "iframe": "src", "link": "href"}.get(tag)
        if found.get(name):
            self.loads.add(found[name])


@pytest.fixture(scope="module")
def site(once, tmp_path_factory):
    """The pages that were built, by name."""

    def build():
        directory = tmp_path_factory.mktemp("site")
        command = [sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-q", str(DOCS), str(directory)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {str(file.relative_to(directory)): Page(file.read_text("utf-8")) for file in directory.rglob("*.html")}

    return once("site", build)


def test_every_rule_has_a_section_with_its_id(site):
    pages = [page.ids for name, page in site.items() if name.startswith("rules/") and name != "rules/index.html"]
    assert {rule.replace(".", "") for rule in load()} <= set().union(*pages)


def test_every_option_has_a_section(site):
    assert {f"--{option.name}" for option in OPTIONS} <= site["options.html"].ids


def test_pages_load_nothing_from_elsewhere(site):
    loaded = {name for page in site.values() for name in page.loads}
    assert loaded
    assert not [name for name in loaded if re.match(r"(\w+:)?//", name)]

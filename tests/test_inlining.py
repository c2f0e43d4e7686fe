"""What scripts quote is written where it is called, if that is one place and does the same."""

import pytest

from queue_conformance.engine.inlining import inline, without_unread

OPENED = """\
def opened(cls, settings, name="example"):
    \"\"\"Open it.\"\"\"
    crawler = get_crawler(Spider, {"BASE": 1, **settings})
    thing = cls(crawler, name)
    return thing, crawler.spider"""
NAMES = """\
def names_below(directory):
    return sorted(path.name for path in files_below(directory))"""
FILES = """\
def files_below(directory):
    return Path(directory).rglob("*")"""


@pytest.mark.parametrize(
    ("call", "last"),
    [
        ("thing, spider = opened(Mine, {'A': 2})", ["spider = crawler.spider"]),
        ("thing = opened(Mine, {'A': 2})[0]", []),
        ("opened(Mine, {'A': 2})", []),
    ],
)
def test_statements_take_the_place_of_their_only_call(call, last):
    lines = ["crawler = get_crawler(Spider, {'BASE': 1, 'A': 2})", "thing = Mine(crawler, 'example')", *last]
    assert inline([call, "pass  # right"], {"opened": OPENED}) == ([*lines, "pass  # right"], {})


def test_an_expression_takes_the_place_of_a_call_anywhere_also_in_what_is_quoted():
    lines = ["for name in names_below(directory + '/é'):", "    print(name)  # here"]
    written = "for name in sorted((path.name for path in Path(directory + '/é').rglob('*'))):"
    assert inline(lines, {"names_below": NAMES, "files_below": FILES}) == ([written, lines[1]], {})


def test_one_line_takes_the_place_of_a_few_calls():
    text = "x = files_below(1), files_below(2)"
    assert inline([text], {"files_below": FILES}) == (["x = Path(1).rglob('*'), Path(2).rglob('*')"], {})
    give = "def give(crawler, spider):\n    crawler.spider = spider\n    return crawler.spider"
    assert inline(["give(c, s)", "give(c, t)"], {"give": give}) == (["c.spider = s", "c.spider = t"], {})


BRANCHES = "def opened(a):\n    if a:\n        b()\n    return a"
LOOPS = "def opened(a):\n    return [a for _ in range(3)]"
CAPTURES = "def opened(a):\n    return [a + path for path in (1, 2)]"
READS = "def opened(a):\n    return a + limit"
LONG = f"def opened(a):\n    return a + {'x' * 90!r}"
DECORATED = "@contextmanager\ndef opened(a):\n    yield a"


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("opened(1); opened(2)", OPENED),
        (f"x = {'opened(1), ' * 6}", "def opened(a):\n    return a"),
        (f"x = [opened({'x' * 90!r})]\ny = opened(2)", FILES.replace("files_below", "opened")),
        ("x = [opened(Mine, {})]", OPENED),
        ("thing, spider = opened(Mine, {}); crawler = thing.crawler", OPENED),
        ("x = opened(1)", BRANCHES),
        ("x = opened(f())", LOOPS),
        ("path = 1; x = opened(path)", CAPTURES),
        ("limit = 1; x = opened(2)", READS),
        ("x = opened(2)", LONG),
        ("with opened(2): pass", DECORATED),
        ("x = opened(*all)", READS),
    ],
)
def test_what_would_not_do_the_same_is_quoted(line, source):
    assert inline(line.splitlines(), {"opened": source}) == (line.splitlines(), {"opened": source})


def test_what_is_no_python_stays_as_it_is():
    assert inline(["x = <Hostile object>"], {"opened": OPENED}) == (["x = <Hostile object>"], {"opened": OPENED})


SPIDERS = """\
class ExampleSpider(Spider):
    name = "example"

    def parse(self, response): ...

    def parse_item(self, response): ...

    def __mangled(self, response): ...

    def __len__(self):
        return 0"""


def test_methods_that_do_nothing_and_are_not_named_are_left_out():
    (source,) = inline(["ExampleSpider().parse_item"], {"ExampleSpider": SPIDERS})[1].values()
    idle = ("    def parse(self, response): ...\n\n", "    def __mangled(self, response): ...\n\n")
    assert source == SPIDERS.replace(idle[0], "").replace(idle[1], "")
    assert "__mangled" in inline(["spider._ExampleSpider__mangled"], {"ExampleSpider": SPIDERS})[1]["ExampleSpider"]


WATCHED = """\
class WatchedQueue(Queue):
    built = []
    closed = 0

    def close(self):
        self.closed += 1"""


@pytest.mark.parametrize(("line", "kept"), [("WatchedQueue.built", False), ("WatchedQueue.built[0].closed", True)])
def test_what_is_counted_is_left_out_where_nothing_asks_for_it(line, kept):
    (source,) = inline([line], {"WatchedQueue": WATCHED})[1].values()
    assert source == (WATCHED if kept else WATCHED.partition("\n    closed")[0])


BLOCK = """\
with logged(30) as texts:
    for n in range(3):
        with logged() as more:
            push(n)
"""


@pytest.mark.parametrize(
    ("last", "left"),
    [
        ("print(texts)", ["with logged(30) as texts:", "    for n in range(3):", "        push(n)"]),
        ("print(more)", ["for n in range(3):", "    with logged() as more:", "        push(n)"]),
        ("print(n)", ["for n in range(3):", "    push(n)"]),
    ],
)
def test_a_block_that_watches_is_left_out_where_nothing_looks_at_it(last, left):
    assert without_unread(BLOCK + last, "logged") == [*left, last]


def test_what_is_no_python_is_left_as_it_is_watched():
    assert without_unread("with logged() as texts:\n    x = <Item>", "logged") == ["with logged() as texts:", "    x = <Item>"]

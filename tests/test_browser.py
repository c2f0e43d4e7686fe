"""The pages work in a real browser, from a file: they filter, link, copy, and ask no network for anything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache, partial
from urllib.parse import urlencode

import pytest
from made_reports import HOSTILE, QUEUE, SCHEDULER, hostile, implementation, report, violation

from queue_conformance import kinds
from queue_conformance.reports import html, matrix
from queue_conformance.specification import load

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium, which is in the dependency group dev")
from selenium.webdriver import ActionChains, Keys  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

HANGS = violation("queue.pop.fifo", stacks="Thread 1", script="".join(f"print({n})\n" for n in range(90)))
ONE = report(
    implementation(
        failed=["queue.pop.empty-none", "queue.close.twice", "queue.peek.then-push", HANGS], known=["queue.peek.then-push"]
    )
)
THREE = report(*ONE.implementations, implementation("a.Right"), implementation(SCHEDULER, kinds.SCHEDULER), gate=["remove it"])
LONG = f"a.Queue{'OfALongName' * 5}"
MANY = report(*(implementation(f"{LONG}{number}", failed=["queue.pop.empty-none"]) for number in range(21)))
OLD = report(implementation(failed=["queue.pop.empty-none"]), releases={"scrapy": "2.13.0"})
PAGES = {
    "one.html": lambda: html.render(ONE),
    "three.html": lambda: html.render(THREE),
    "many.html": lambda: html.render(MANY),
    "hostile.html": lambda: html.render(hostile()),
    "table.html": lambda: matrix.render([OLD, ONE]),
    "tables.html": lambda: matrix.render([OLD, THREE]),
    "hostile-table.html": lambda: matrix.render([hostile()]),
}


@cache
def page(name: str) -> str:
    """Return one of these pages."""
    return PAGES[name]()


def _found(*names: str) -> str | None:
    """Return the first of some programs that is installed and runs."""
    for name in names:
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
            return path
    return None


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    chromium, chromedriver = _found("chromium", "chromium-browser", "google-chrome"), _found("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("needs Chromium and its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    directory = str(tmp_path_factory.mktemp("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={directory}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NO_PROXY", "localhost,127.0.0.1")  # where the driver listens
        service = webdriver.ChromeService(chromedriver, env={**os.environ, "XDG_CONFIG_HOME": directory})
        with webdriver.Chrome(options, service) as driver:
            yield driver


class Browser:
    """A browser that shows one page at a time."""

    def __init__(self, driver, directory):
        self.driver = driver
        self.directory = directory

    def open(self, name, fragment="", *, width=1280, height=900, scheme="light", media=""):
        """Open a page anew, in a window of some size."""
        file = self.directory / name
        file.write_text(page(name), "utf-8")
        self.driver.get("about:blank")
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.do("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.driver.get(f"{file.as_uri()}{fragment}")
        # On a busy machine the driver may return before the page is there.
        WebDriverWait(self.driver, 60).until(
            lambda _: self.run("return location.protocol + document.readyState") == "file:complete"
        )

    def do(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def choose(self, name, value):
        """Tick a box, or take the tick away, by the keyboard."""
        self.run("arguments[0].focus()", self.one(f"#filters [name='{name}'][value='{value}']"))
        ActionChains(self.driver).send_keys(Keys.SPACE).perform()

    @property
    def shown(self):
        """The rules that are not filtered away."""
        return [one.get_attribute("data-rule") for one in self.all("main [data-item]:not([hidden])")]

    @property
    def said(self):
        return self.one("#shown").text

    @property
    def fragment(self):
        return self.driver.current_url.partition("#")[2]


@pytest.fixture
def browser(driver, tmp_path):
    driver.get_log("browser")
    driver.get_log("performance")
    yield Browser(driver, tmp_path)
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert driver.get_log("browser") == [], "the console has nothing to complain of"
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [one["params"] for one in events if one["method"] == "Network.requestWillBeSent"]
    urls = [one["request"]["url"] for one in asked if one["documentURL"].startswith("file:")]  # others are the browser's own
    assert urls, "what is asked for is seen"
    assert [url for url in urls if not url.startswith(("file:", "data:"))] == [], "nothing is asked of a network"


def rules(found):
    return sorted(verdict.rule.id for one in found.implementations for verdict in one.verdicts)


# --- Filtering -------------------------------------------------------------------------------------------------------


def test_every_rule_is_shown_at_first(browser):
    browser.open("three.html")
    assert sorted(browser.shown) == rules(THREE)
    assert browser.said == f"{len(rules(THREE))} rules"


def test_a_search_looks_at_ids_sentences_and_reasons(browser):
    browser.open("one.html")
    for words, expected in (
        ("EMPTY-none", "queue.pop.empty-none"),
        ("every time and nothing", "queue.pop.empty-none"),
        ("needs persistent", "queue.close.keeps"),
        ("IndexError deque", "queue.close.twice"),
    ):
        search = browser.one("[type=search]")
        search.clear()
        search.send_keys(words)
        assert expected in browser.shown, words
        assert len(browser.shown) < len(rules(ONE)) / 2, words
        assert browser.said == f"{len(browser.shown)} of {len(rules(ONE))} rules"
    search.clear()
    search.send_keys("no such words")
    assert browser.shown == []
    assert not [one for one in browser.all("h3") if one.is_displayed()]


def test_boxes_filter_and_are_kept_in_the_address(browser):
    browser.open("three.html")
    browser.choose("verdict", "failed")
    browser.choose("verdict", "known")
    assert sorted(browser.shown) == ["queue.close.twice", "queue.peek.then-push", "queue.pop.empty-none", "queue.pop.fifo"]
    browser.choose("level", "SHOULD")
    assert browser.shown == ["queue.close.twice"]
    assert browser.fragment == "?verdict=failed%2Cknown&level=SHOULD"
    assert browser.said == f"1 of {len(rules(THREE))} rules"
    browser.one("#filters [type=reset]").click()
    WebDriverWait(browser.driver, 5).until(lambda _: browser.fragment == "")
    assert sorted(browser.shown) == rules(THREE)


def test_a_filtered_view_can_be_linked(browser):
    browser.open("three.html", "#?q=pop&verdict=passed&in=a.Right")
    assert browser.one("[type=search]").get_attribute("value") == "pop"
    assert browser.shown
    assert {one.get_attribute("data-in") for one in browser.all("main [data-item]:not([hidden])")} == {"a.Right"}


def test_a_number_leads_to_its_rules(browser):
    browser.open("one.html")
    browser.one(".counts .failed.should a").click()
    assert browser.shown == ["queue.close.twice"]
    browser.driver.back()
    assert sorted(browser.shown) == rules(ONE)


def test_the_form_leaves_room_for_rules_though_there_are_many_implementations(browser):
    browser.open("many.html")
    assert browser.one("#filters").size["height"] < 300
    last = browser.one(f"#filters [value='{LONG}20']")
    assert last.location["y"] > browser.one("#filters fieldset:last-of-type").location["y"]
    browser.choose("in", f"{LONG}20")  # it is scrolled to
    assert browser.shown


def test_the_rules_of_many_implementations_are_unfolded_by_a_filter_and_by_links(browser):
    browser.open("many.html")
    unfolded = lambda: [one.get_attribute("id") for one in browser.all(".implementation:has(> .folded[open])")]  # noqa: E731
    assert unfolded() == []
    browser.choose("in", f"{LONG}3")
    assert f"{LONG}3" in unfolded()
    assert browser.one("[data-item]:not([hidden]) > summary").is_displayed()
    browser.open("many.html", f"#{LONG}7")
    assert unfolded() == [f"{LONG}7"]
    browser.open("many.html", f"#{LONG}5/queue.pop.fifo")
    assert unfolded() == [f"{LONG}5"]
    assert browser.one(f"[id='{LONG}5/queue.pop.fifo'] > summary").is_displayed()
    assert load()["queue.pop.fifo"].source[:20] in browser.one(f"[id='{LONG}5/queue.pop.fifo'] > .body").text, "made by now"


def test_a_search_finds_what_is_made_when_a_rule_is_unfolded(browser):
    browser.open("many.html", f"#?{urlencode({'q': load()['queue.pop.fifo'].source})}")
    assert set(browser.shown) == {"queue.pop.fifo", "queue.pop.lifo"}, "which have one source"


# --- Links to rules --------------------------------------------------------------------------------------------------


def edges(browser, selector):
    """Return where something begins and ends in the window, from its top, in pixels."""
    box = browser.one(selector).rect
    scrolled = browser.run("return scrollY")
    return box["y"] - scrolled, box["y"] + box["height"] - scrolled


def test_a_rule_can_be_linked(browser):
    browser.open("one.html", "#queue.len.count", height=500)
    rule = browser.one("[data-rule='queue.len.count']")
    assert rule.get_attribute("open")
    assert -1 < edges(browser, "[data-rule='queue.len.count']")[0] < 500
    assert browser.run("return getComputedStyle(arguments[0]).outlineStyle", browser.one(".target > .line")) == "solid"


def test_a_rule_is_not_hidden_behind_the_filter(browser):
    browser.open("three.html", f"#{QUEUE}/queue.len.count")
    (top, _), (_, bottom) = (edges(browser, one) for one in (f"[id='{QUEUE}/queue.len.count']", "#filters"))
    assert top >= bottom > 0


def test_a_rule_is_found_by_its_id_among_several_implementations(browser):
    browser.open("three.html", "#scheduler.next.no-spurious-none")
    assert browser.one("[data-rule='scheduler.next.no-spurious-none']").get_attribute("open")


def test_a_link_to_a_rule_that_is_filtered_away_shows_it(browser):
    browser.open("one.html", "#?verdict=passed")
    assert "queue.close.twice" not in browser.shown
    browser.run("location.hash = 'queue.close.twice'")
    WebDriverWait(browser.driver, 5).until(lambda _: "queue.close.twice" in browser.shown)


@pytest.mark.parametrize("fragment", ["#nothing", "#%E0%A4%A", "#'\"]", "#?verdict=", "#?%%"])
def test_an_address_that_names_nothing_shows_everything(browser, fragment):
    browser.open("one.html", fragment)
    assert sorted(browser.shown) == rules(ONE)


def test_broken_rules_are_open_and_others_open_by_the_keyboard(browser):
    browser.open("one.html")
    assert {one.get_attribute("data-verdict") for one in browser.all(".rule[open]")} == {"failed", "known"}
    summary = browser.one("[data-rule='queue.len.count'] summary")
    sign = partial(browser.run, "return getComputedStyle(arguments[0].querySelector('.rule-id'), '::after').content", summary)
    assert sign().startswith('" ▸"')
    browser.run("arguments[0].focus()", summary)
    ActionChains(browser.driver).send_keys(Keys.ENTER).perform()
    assert browser.one("[data-rule='queue.len.count']").get_attribute("open")
    assert sign().startswith('" ▾"')


# --- Scripts ---------------------------------------------------------------------------------------------------------


def clipboard(browser):
    return browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0], (e) => arguments[0](`${e}`))")


@pytest.mark.parametrize("how", ["clipboard", "selection"])
def test_a_script_is_copied_as_it_is(browser, how):
    browser.open("one.html")
    browser.do("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    if how == "selection":
        browser.run("navigator.clipboard.writeText = () => Promise.reject()")
    for rule, folded in (("queue.pop.empty-none", False), ("queue.pop.fifo", True)):
        button = browser.one(f"[data-rule='{rule}'] .copy")
        assert (browser.one(f"[data-rule='{rule}'] .script details").get_attribute("open") is None) == folded
        button.click()
        WebDriverWait(browser.driver, 5).until(lambda _, button=button: button.text == "Copied")
        assert browser.one("#said").text == "The script is copied."
        expected = HANGS.script if folded else violation(rule).script
        assert clipboard(browser).replace("\r\n", "\n") == expected


# --- Looks -----------------------------------------------------------------------------------------------------------

# The contrast of each text with what is behind it, as WCAG computes it.
CONTRASTS = """
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => {
  const [r, g, b] = colour.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const colour = numbers(getComputedStyle(one).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
  }
  return numbers(getComputedStyle(document.documentElement).backgroundColor).slice(0, 3);
};
const found = new Map();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !element.checkVisibility() || element.closest(".unseen, script")) continue;
  const [text, ground] = [numbers(getComputedStyle(element).color).slice(0, 3), behind(element)];
  const [low, high] = [light(text), light(ground)].sort((a, b) => a - b);
  found.set(`${text} on ${ground}: ${element.outerHTML.slice(0, 80)}`, (high + 0.05) / (low + 0.05));
}
return [...found];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["three.html", "tables.html"])
def test_every_text_is_easy_to_read_in_both_schemes(browser, name, scheme):
    browser.open(name, scheme=scheme)
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) > 380) == (scheme == "light")
    contrasts = browser.run(CONTRASTS)
    assert len(contrasts) > 100
    assert [pair for pair in contrasts if pair[1] < 4.5] == []


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("name", list(PAGES))
def test_a_page_is_no_wider_than_its_window(browser, name, width):
    browser.open(name, width=width, height=800)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.one("h1").is_displayed()


CUT = """
return [...document.querySelectorAll("fieldset input")].filter((box) => {
  box.focus({focusVisible: true});
  const [ring, frame] = [box.nextElementSibling, box.closest("fieldset")];
  const style = getComputedStyle(ring), [inner, outer] = [ring, frame].map((one) => one.getBoundingClientRect());
  const wide = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
  return style.outlineStyle === "none" || inner.left - wide < outer.left || inner.top - wide < outer.top
    || inner.right + wide > outer.right || inner.bottom + wide > outer.bottom;
}).map((box) => box.value);
"""
"""The boxes whose ring is not there, or not whole, when they are focused."""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["three.html", "tables.html"])
def test_the_ring_of_a_focused_box_is_whole(browser, name, width):
    browser.open(name, width=width, height=800)
    assert browser.run(CUT) == []


def test_the_table_of_counts_breaks_no_word_on_a_phone(browser):
    browser.open("three.html", width=320, height=800)
    rows = browser.run("return [...document.querySelectorAll('.counts tr')].map((row) => row.offsetHeight)")
    assert len(rows) > 10
    assert max(rows) < 40  # one line each


def test_landmarks_and_labels_are_there(browser):
    for name in ("three.html", "tables.html"):
        browser.open(name)
        assert [len(browser.all(tag)) for tag in ("main", "header", "h1", "[role=search]", "[aria-live]")] == [1] * 5
        assert browser.run("return document.documentElement.lang") == "en"
        controls = controls_in(browser, "body")
        assert len(controls) > 20
        assert [one.get_attribute("outerHTML") for one in controls[:60] if not one.accessible_name] == []
    browser.open("tables.html", "#queue.pop.empty-none")
    assert browser.one("dialog[open]").accessible_name == "queue.pop.empty-none MUST"
    assert [one.accessible_name for one in controls_in(browser, "dialog[open]")] == ["Close", "Copy", "Copy"]


def controls_in(browser, selector):
    """Return what a reader can do in a part of a page."""
    script = "return [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility())"
    return browser.run(script, ", ".join(f"{selector} {one}" for one in ("input", "button", "a", "[role=region]")))


@pytest.mark.parametrize("name", ["three.html", "tables.html"])
def test_without_scripts_everything_can_be_read(browser, name):
    browser.do("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(name)
    text = browser.one("body").text
    for said in ("queue.pop.empty-none", "IndexError('pop from an empty deque') raised", "NON-CONFORMANT", "if 1 < 2:"):
        assert said in text
    assert not browser.one("#filters").is_displayed()


@pytest.mark.parametrize("name", ["three.html", "tables.html"])
def test_on_paper_counterexamples_are_there_and_buttons_are_not(browser, name):
    browser.open(name, media="print")
    assert "IndexError('pop from an empty deque') raised" in browser.one("body").text
    folded = browser.one(".script details:not([open]) pre")
    assert folded.rect["height"] > 1000
    assert browser.run("return arguments[0].checkVisibility()", folded)
    assert not [one for one in browser.all("button, #filters") if one.is_displayed()]


def test_on_paper_the_rules_of_many_implementations_are_unfolded(browser):
    browser.open("many.html", media="print")
    assert browser.run("return arguments[0].checkVisibility()", browser.one(f"[id='{LONG}5/queue.pop.empty-none'] pre"))


@pytest.mark.parametrize("name", ["hostile.html", "hostile-table.html"])
def test_what_a_report_quotes_does_nothing(browser, name):
    browser.open(name)
    assert browser.all("img") == []
    script = browser.one(".script pre").get_attribute("textContent")
    assert (
        script == HOSTILE.translate({ord(c): c.encode("unicode_escape").decode() for c in HOSTILE if not c.isprintable()}) + "\n"
    )


# --- The table -------------------------------------------------------------------------------------------------------

CELL = f"queue.pop.empty-none@{QUEUE}"


def test_a_cell_shows_its_counterexample_and_closes_again(browser):
    browser.open("table.html", "#?level=MUST")
    cell = browser.one(f"td a[href='#{CELL}']")
    cell.click()
    WebDriverWait(browser.driver, 5).until(lambda _: browser.all("dialog[open]"))
    dialog = browser.one("dialog[open]")
    assert dialog.get_attribute("data-rule") == "queue.pop.empty-none"
    part = browser.one(f"[id='{CELL}']")
    assert part.is_displayed()
    assert "IndexError('pop from an empty deque') raised" in part.text
    assert "scrapy 2.13.0" in part.text
    assert browser.fragment == CELL
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    WebDriverWait(browser.driver, 5).until(lambda _: browser.fragment == "?level=MUST")
    assert browser.all("dialog[open]") == []
    assert browser.driver.switch_to.active_element == cell
    cell.click()
    WebDriverWait(browser.driver, 5).until(lambda _: browser.all("dialog[open]"))
    browser.one("dialog[open] .close").click()
    WebDriverWait(browser.driver, 5).until(lambda _: browser.fragment == "?level=MUST")


def test_a_counterexample_can_be_linked(browser):
    browser.open("table.html", f"#{CELL}")
    assert browser.one(f"[id='{CELL}']").is_displayed()
    browser.run("location.hash = 'queue.close.twice'")
    WebDriverWait(browser.driver, 5).until(
        lambda _: browser.one("dialog[open]").get_attribute("data-rule") == "queue.close.twice"
    )
    browser.driver.back()
    WebDriverWait(browser.driver, 5).until(lambda _: browser.one(f"[id='{CELL}']").is_displayed())
    assert len(browser.all("dialog[open]")) == 1


def test_a_rule_of_the_table_is_found_by_its_id_alone(browser):
    browser.open("tables.html", "#queue.pop.empty-none")
    assert browser.one("dialog[open]").get_attribute("data-rule") == "queue.pop.empty-none"


def table_rows(browser):
    return [one.text.split()[0] for one in browser.all("tr[data-item]:not([hidden])")]


def test_rows_that_differ_or_are_broken_or_found(browser):
    browser.open("table.html")
    assert len(table_rows(browser)) == len(rules(ONE))
    browser.choose("differs", "yes")
    assert sorted(table_rows(browser)) == ["queue.close.twice", "queue.peek.then-push", "queue.pop.fifo"]
    browser.choose("differs", "yes")
    browser.choose("failed", "yes")
    assert len(table_rows(browser)) == 4
    browser.one("[type=search]").send_keys("every time")
    assert table_rows(browser) == ["queue.pop.empty-none"]


def test_the_head_and_the_first_column_stay_in_sight(browser):
    browser.open("table.html", width=600, height=500)
    browser.run("const area = document.querySelector('.scroller'); area.scrollTo(150, 400)")
    boxes = "return [...arguments].map((one) => document.querySelector(one).getBoundingClientRect())"
    inside, head, first = browser.run(boxes, ".scroller", "thead th", "tr[data-item]:nth-child(12) th")
    assert abs(head["top"] - inside["top"]) < 3
    assert abs(first["left"] - inside["left"]) < 3

"""What is crawled, and how: drawn graphs of pages, and the fewest pages of one with which a crawl still fails."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.ran import raised_in
from queue_conformance.engine.recording import is_a
from queue_conformance.environments.crawls import draw_pages, tree
from queue_conformance.environments.graph import GraphCrawl
from queue_conformance.environments.judge import reached
from queue_conformance.faults.outages import Stopped
from queue_conformance.kinds.queue.faults import offered

Graph = dict[Any, Any]
"""See :mod:`queue_conformance.environments.graph`."""


class Written(Graph):
    """A graph of many pages that are alike, which a script writes as it is written here.

    Args:
        source: the expression.
    """

    def __init__(self, source: str) -> None:
        super().__init__(eval(source))
        self.source = source


ATTEMPTS = 60
"""Crawls at most to find the fewest pages."""

SEARCH = 20.0
"""Seconds after which no fewer pages are looked for."""

PLAIN = ("e2e.all-once", "e2e.no-early-end")
"""The rules of crawls that nothing befalls: who fails them fails others, too, and the fewest pages are known."""

LINKED: Graph = {
    "start": [{"page": 0}, {"page": 1}, {"page": 2, "priority": 3}],
    0: {
        "links": [{"page": 3}, {"page": 4, "priority": -1}, {"page": 5, "unserializable": True}, {"page": 6, "dont_filter": True}]
    },
    1: {
        "status": [503],
        "links": [{"page": 5, "unserializable": True}, {"page": 10}, {"page": 11}],
        "by": "query",
        "carry": "meta",
    },
    2: {"redirect": 7, "carry": "cb_kwargs"},
    3: {
        "links": [{"page": 8, "slot": "other"}, {"page": 0}, {"page": 15, "dont_filter": True}],
        "raises": True,
        "by": "body",
        "carry": "headers",
    },
    4: {
        "links": [{"page": 3}, {"page": 12}, {"page": 13}, {"page": 14}, {"page": 15, "dont_filter": True}],
        "seconds": 0.05,
        "by": "case",
        "carry": "cb_kwargs",
    },
    5: {"links": [{"page": 6, "dont_filter": True}], "by": "method"},
    6: {"by": "method", "carry": "flags"},
    7: {"links": [{"page": 1}, {"page": 9, "priority": 1}, {"page": 17}]},
    8: {"by": "body", "carry": "cookies"},
    9: {"status": [503, 503]},
    10: {"by": "query"},
    11: {"gone": True},
    12: {"by": "case"},
    13: {"by": "method", "gone": True},
    14: {"by": "method"},
    15: {"redirect": 16, "carry": "meta"},
    16: {},
    17: {"cut": True},
}
"""A graph with one of each."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One crawl.

    Attributes:
        graph: what is crawled.
        settings: what the command line sets besides.
        crawlers: how several crawlers crawl it, and what befalls them.
    """

    graph: Graph
    settings: Mapping[str, Any] = field(default_factory=dict)
    crawlers: Mapping[str, int] = field(default_factory=dict)


def drawn(context: CheckContext) -> Iterator[Plan]:
    """Yield a plan with one of each, one request at a time, then drawn ones with up to eight."""
    yield Plan(LINKED, {"CONCURRENT_REQUESTS": 1})
    for number in range(1, context.crawls):
        draw = random.Random(f"{context.seed} {number}")
        yield Plan(draw_graph(draw, draw.randrange(8, 15)), {"CONCURRENT_REQUESTS": draw.choice((1, 8, 8))})


def paused(context: CheckContext) -> Iterator[Plan]:
    """Yield plans of crawls that are stopped and go on; what cannot be serialized would be lost."""
    for plan in drawn(context):
        yield replace(plan, graph=serializable(plan.graph))


def together(context: CheckContext, accident: str = "") -> Iterator[Plan]:
    """Yield plans for several crawlers, with an accident when one of them asks for a drawn page; see ``SharedGraph``.

    Many links lead to some pages, and only one to each where there is an accident: what that costs comes in no other way.
    """
    if accident == "restarted":
        next(offered(Stopped)(context))  # it raises if that cannot be done to the server
    for number in range(min(2, context.crawls)):
        draw = random.Random(f"{context.seed} {accident} {number}")
        pages = draw_pages(draw, draw.randrange(15, 20))
        pages = tree(pages) if accident else pages
        graph: Graph = {"start": [{"page": page} for page in range(8)]}
        graph |= {page: {"links": [{"page": link} for link in links]} for page, links in pages.items()}
        crawlers = {"number": draw.randrange(2, 5) if number else 2}
        if accident:
            crawlers[accident] = draw.choice([page for page in range(1, 7) if max(pages[page], default=0) > 7] or [0])
        yield Plan(graph, crawlers=crawlers)


def serializable(graph: Graph) -> Graph:
    """Return a graph whose requests can all be serialized."""

    def links(found: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [{name: value for name, value in link.items() if name != "unserializable"} for link in found]

    pages = {number: {**page, "links": links(page.get("links", ()))} for number, page in graph.items() if number != "start"}
    return pruned({"start": links(graph["start"]), **pages})


def draw_graph(draw: random.Random, number: int) -> Graph:
    """Return a graph in which every page can be reached, many of them over several ways, and which a right crawl ends.

    A page that is requested without a filter is never requested with one: documents leave open which of the two comes first.

    Args:
        draw: where chance comes from.
        number: how many pages it has.
    """
    pages = draw_pages(draw, number)
    unfiltered = {page for page in range(1, number) if draw.random() < 0.15 and all(link > page for link in pages[page])}
    graph: dict[Any, Any] = {"start": [{"page": 0}]}
    for page in sorted({draw.randrange(1, number) for _ in range(draw.randrange(3))} - unfiltered):
        graph["start"].append({"page": page, "priority": draw.randrange(-1, 3)})
    for page, links in pages.items():
        kept = [link for link in links if link not in unfiltered or link > page]
        graph[page] = {"links": [_link(draw, link, link in unfiltered) for link in kept]}
        if page not in unfiltered:
            graph[page] |= draw.choice(({}, {}, {}, {"status": [503]}, {"raises": True}, {"seconds": 0.03}))
        if page and "status" not in graph[page] and draw.random() < 0.7:
            graph[page]["by"] = draw.choice(("query", "case", "body", "method"))
        if page and draw.random() < 0.5:
            graph[page]["carry"] = draw.choice(("meta", "cb_kwargs", "headers", "cookies", "flags"))
    return pruned(graph)


def _link(draw: random.Random, page: int, unfiltered: bool) -> dict[str, Any]:
    link: dict[str, Any] = {"page": page, "dont_filter": True} if unfiltered else {"page": page}
    if draw.random() < 0.5:
        link["priority"] = draw.randrange(-2, 3)
    if draw.random() < 0.2:
        link["slot"] = draw.choice("ab")
    if draw.random() < 0.15:
        link["unserializable"] = True
    return link


def pruned(graph: Graph) -> Graph:
    """Return a graph without the pages that nothing leads to."""
    pages = sorted(reached(graph, [link["page"] for link in graph["start"]]))
    return {
        "start": graph["start"],
        **{page: {name: value for name, value in graph[page].items() if value != []} for page in pages},
    }


def without_duplicates(graph: Graph) -> Graph:
    """Return a graph in which one request leads to each page, for what filters nothing."""
    known: set[int] = set()

    def first(links: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        found = {link["page"]: link for link in links if link["page"] not in known}
        known.update(found)
        return [*found.values()]

    made: dict[Any, Any] = {"start": first(graph["start"])}
    todo = [link["page"] for link in made["start"]]
    for page in todo:
        made[page] = dict(graph[page])
        if "redirect" in made[page] and not first([{"page": made[page]["redirect"]}]):
            del made[page]["redirect"]
        made[page]["links"] = first(made[page].get("links", ()))
        todo += [link["page"] for link in made[page]["links"]]
        todo += [made[page]["redirect"]] if "redirect" in made[page] else []
    return pruned(made)


def told_apart(graph: Graph, differences: Sequence[str]) -> Graph:
    """Return a graph in which nothing else tells the requests for its pages apart; the same, where it is that already."""
    told = {
        key: found if key == "start" or found.get("by", "path") in differences else {**found, "by": "path"}
        for key, found in graph.items()
    }
    return graph if told == graph else told


SLOW = 20.0
"""Seconds for which a scheduler whose operations are slow crawls further graphs, times its share of ordinary time."""


# --- The fewest pages ------------------------------------------------------------------------------------------------


def each(
    plans: Callable[[CheckContext], Iterable[Plan]], unless: Callable[[CheckContext, Plan], bool] | None = None
) -> Callable[[CheckContext], Iterator[Plan]]:
    """Return a function that yields plans as the cases of a check, up to one that fails, and then smaller ones.

    Args:
        unless: whether one that failed fails though nothing befalls it. It is asked where no such crawl has failed in this
            process, as checks of a class may be divided among several.
    """

    def cases(context: CheckContext) -> Iterator[Plan]:
        for plan in context.each("crawls", [*plans(context)], SLOW if context.budget.short else math.inf):
            yield plan
            if context.failed and unless and not context.shown_before.loses and unless(context, plan):
                context.failed, context.shown_before = {}, replace(context.shown_before, loses=True)
                yield plan  # which says that it is not covered
            if context.failed:
                yield from _shrunk(context, plan)
                return

    return cases


def _shrunk(context: CheckContext, plan: Plan) -> Iterator[Plan]:
    """Yield smaller plans, and let the context keep how the smallest one fails that fails the same rule.

    There are none if earlier checks have shown why it fails: the class raised there what it raises here, or the fewest pages
    are known that get lost where nothing befalls a crawl, and nobody has tried this one so, as of several crawlers.
    """
    rule, before = next(iter(context.failed)), context.shown_before
    raised = raised_in(context.failed[rule].steps)
    context.first = context.first or context.failed[rule]  # where a smaller one does not fail alone, this may
    explained = (before.loses and plan.crawlers) or raised in before.raised
    context.learn(context.failed, loses=rule in PLAIN)
    if explained or context.run_time.over:
        return
    kept, attempts, ends = context.failed, 0, context.watchdog.now + SEARCH
    todo, tried = smaller(plan, _astray(kept[rule])), [plan]

    def over() -> bool:
        return context.watchdog.now >= ends or context.run_time.over

    context.watchdog.aim("finding the smallest crawl", ATTEMPTS, ends)
    try:
        while attempts < ATTEMPTS and not over() and (candidate := next((one for one in todo if one not in tried), None)):
            tried.append(candidate)
            for _ in range(2 if plan.crawlers else 1):  # of several crawlers, chance decides which one comes first
                attempts += (cost := 3 if plan.crawlers else 1)
                context.watchdog.count(cost)
                context.failed, context.attempt = {}, attempts
                yield candidate
                if rule not in context.failed:
                    break
            else:
                kept, todo = context.failed, smaller(candidate, _astray(context.failed[rule]))
    finally:
        context.failed = kept


def _astray(failure: RuleFailed) -> Set[int]:
    """Return the pages with which something was wrong in the last crawl, according to it."""
    crawls = [step.result for step in failure.steps if is_a(step.result, GraphCrawl)]
    return {*crawls[-1].astray} if crawls else set()


def smaller(plan: Plan, astray: Set[int] = frozenset()) -> Iterator[Plan]:
    """Yield plans with less in them, those with much less first: one page alone, where something was wrong with that.

    Args:
        plan: a plan that fails.
        astray: the pages with which something was wrong; of those that only such lead to, nothing can be known. One may be tried
            alone, or what is redirected to it.
    """
    pages = [page for page in plan.graph if page != "start"]
    first = plan.graph["start"][0]["page"]
    came = reached({**plan.graph, **{page: {} for page in astray}}, [link["page"] for link in plan.graph["start"]])
    for page in reversed([page for page in pages if page in came and astray & {page, plan.graph[page].get("redirect")}]):
        yield from _with(plan, {**plan.graph, "start": [{"page": page}]})
        yield from _with(plan, {**plan.graph, "start": [{"page": first}], first: {"links": [{"page": page}]}})
    size = len(pages) // 2
    while size:
        for at in range(0, len(pages), size):
            yield from _with(plan, _without(plan.graph, {*pages[at : at + size]}))
        size //= 2
    for page, found in plan.graph.items():
        links = found if page == "start" else found.get("links", [])
        for number, link in enumerate(links):
            yield from _with(plan, _changed(plan.graph, page, [*links[:number], *links[number + 1 :]]))
            for name in link.keys() - {"page"}:
                less = {key: value for key, value in link.items() if key != name}
                yield from _with(plan, _changed(plan.graph, page, [*links[:number], less, *links[number + 1 :]]))
        for name in () if page == "start" else found.keys() - {"links"}:
            yield from _with(plan, {**plan.graph, page: {key: value for key, value in found.items() if key != name}})
    if plan.crawlers.get("number", 2) > 2:
        yield replace(plan, crawlers={**plan.crawlers, "number": 2})
    if plan.settings.get("CONCURRENT_REQUESTS", 1) > 1:
        yield replace(plan, settings={**plan.settings, "CONCURRENT_REQUESTS": 1})


def _with(plan: Plan, graph: Graph) -> Iterator[Plan]:
    """Yield a plan with another graph, unless that has as much in it, or nothing, or not the page with the accident."""
    struck = {page for name, page in plan.crawlers.items() if name != "number"}
    made = pruned(graph)
    if made["start"] and struck <= made.keys() and len(repr(made)) < len(repr(plan.graph)):
        yield replace(plan, graph=made)


def _changed(graph: Graph, page: Any, links: list[Any]) -> Graph:
    return {**graph, page: links if page == "start" else {**graph[page], "links": links}}


def _without(graph: Graph, gone: set[Any]) -> Graph:
    """Return a graph without some pages and what leads to them."""
    made: dict[Any, Any] = {"start": [link for link in graph["start"] if link["page"] not in gone]}
    for page in graph.keys() - gone - {"start"}:
        made[page] = {name: value for name, value in graph[page].items() if name != "redirect" or value not in gone}
        if "links" in made[page]:
            made[page]["links"] = [link for link in made[page]["links"] if link["page"] not in gone]
    return made

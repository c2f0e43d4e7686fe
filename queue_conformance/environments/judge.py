"""The judge of a crawl: how often a right one asks for each page of a graph, and in which order.

See :mod:`queue_conformance.environments.graph` for what a graph is. Scripts import what they need from this file; it has no
annotations.
"""

import itertools
from collections import Counter

TRIES = 3
"""How often Scrapy asks for a page that is never answered."""


def demanded(graph, dropped=()):
    """Return how often each page must be asked for: once, again after an error, and each time without a filter.

    A scheduler may refuse what cannot be serialized: of those requests it owes nothing for pages of which it ``dropped`` one.
    """
    hits, seen = Counter(), set()
    todo = list(graph["start"])
    for link in todo:
        number, page = link["page"], graph[link["page"]]
        if link.get("unserializable") and number in dropped:
            continue
        if not link.get("dont_filter"):
            if number in seen:
                continue
            seen.add(number)
        hits[number] += TRIES if "cut" in page else 1 if hits[number] else 1 + len(page.get("status", ()))
        if "redirect" in page:
            todo.append({**link, "page": page["redirect"]})
        else:
            todo += page.get("links", [])
    return hits


def reached(graph, pages):
    """Return these pages of a graph, and all that their links and redirections lead to."""
    found = [*pages]
    for number in found:
        page = graph[number]
        following = [link["page"] for link in page.get("links", ())] + ([page["redirect"]] if "redirect" in page else [])
        found += [each for each in following if each not in found]
    return {*found}


def answered(graph, hits):
    """Return how often each page was answered with what a callback gets, if it was asked for so often."""
    usual = {number: page for number, page in graph.items() if number != "start" and "redirect" not in page}
    return Counter(
        {
            number: hits[number] // TRIES if "cut" in page else hits[number] - len(page.get("status", ()))
            for number, page in usual.items()
        }
    )


def out_of_order(graph, notes, breadth=False):
    """Return the first page that a scheduler gave before one that was due, or None; what was not enqueued yet is not due.

    The most urgent request is due, of these one of a callback, of these the last one, or in ``breadth`` the first one.
    """
    ranks, todo = {}, [(link, 0) for link in graph["start"]]
    for link, depth in todo:
        ranks[str(link["page"])] = link.get("priority", 0) - depth * breadth, depth > 0
        todo += [(each, depth + 1) for each in graph[link["page"]].get("links", ())]
    waiting, numbers = {}, itertools.count()
    for word, *page in notes:
        if word == "accepted":
            (priority, followed), number = ranks[page[0]], next(numbers)
            waiting[page[0]] = priority, followed, number if followed and not breadth else -number
        elif word == "next" and page[0] in waiting and waiting.pop(page[0]) < max(waiting.values(), default=()):
            return int(page[0])
    return None

"""Checks of peek."""

from scrapy import Request

from queue_conformance.engine.check import check
from queue_conformance.kinds.queue.checks.construction import REQUESTS_ONLY


@check("queue.peek.equals-pop")
def peek_shows_what_pop_returns(run):
    run("push:0 peek pop push:1 push:2 push:3 peek pop peek pop push:4 peek pop peek pop peek")


@check("queue.peek.equals-pop", kinds=REQUESTS_ONLY, name="peek.callback")
def peek_shows_the_callback_too(queue, spider, about):
    with about("queue.push.callback-method"):
        queue.push(Request("https://example.com/1", callback=spider.parse_item))
    peeked = queue.peek()
    popped = queue.pop()
    assert getattr(peeked, "callback", None) == getattr(popped, "callback", None)


@check("queue.peek.no-effect")
def peek_changes_nothing(run):
    run("push:0 push:1 push:2 peek length peek truth peek pop peek peek length pop pop")
    run("push:0 push:1 peek reopen peek pop peek reopen pop peek")


@check("queue.peek.then-push")
def push_after_peek_keeps_everything(run):
    run("push:0 push:1 peek push:2 pop pop pop")
    run("push:0 push:1 pop peek push:2 peek push:3 reopen peek push:4")


@check("queue.peek.empty-none")
def peek_finds_nothing_in_an_empty_queue(run):
    run("peek peek push:0 pop peek length push:1 reopen pop peek")


@check("queue.peek.unsupported", kinds=REQUESTS_ONLY)
def unsupported_peek_says_so(queue, item, raises):
    queue.push(item(0))
    with raises(NotImplementedError):
        queue.peek()
    queue.pop()

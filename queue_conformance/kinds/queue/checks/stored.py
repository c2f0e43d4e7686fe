"""Checks of what is stored, in files or behind a server: a request that cannot be read, and room for what is long gone."""

from scrapy import Request

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import appended_below, contents_of_files, damage_record, make_unreadable, offers
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.kinds.queue.fixtures import outcomes_of_pops, pass_through, use_spider
from queue_conformance.kinds.queue.kind import REQUESTS_ONLY
from queue_conformance.script_support.example import OtherSpider
from queue_conformance.script_support.support import bytes_below

FIRST, BAD, LAST = (f"https://example.com/{number}" for number in (1, 2, 3))


@check("queue.pop.unreadable", kinds=REQUESTS_ONLY, depends_on="push:0 push:1 reopen pop pop", damaged=(False, True))
def one_unreadable_request_holds_up_no_other(open_queue, spider, directory, damaged):
    """One stored request that cannot be rebuilt makes `pop` raise once in a run, and holds up no other."""
    queue = open_queue(holding=[Request(FIRST)])
    before = contents_of_files(directory)
    queue.push(Request(BAD, callback=spider.parse_item))
    record = appended_below(directory, before)
    queue.push(Request(LAST))
    queue.close()
    if not damaged:
        use_spider(OtherSpider)  # which has no such method
    elif not make_unreadable(directory, BAD) and not damage_record(directory, record):
        raise NotCovered("no file shows where a request is")
    with under_test(), may_raise(when=damaged) as refused:  # who looks at everything when it opens says there what is wrong
        queue = open_queue()
    if refused:
        return
    with under_test():
        outcomes = outcomes_of_pops(queue, 12)
        lost = [url for url in (FIRST, LAST) if url not in outcomes]
        assert lost == [], "the other requests"
        errors = [type(one).__name__ for one in outcomes if not isinstance(one, str)]
        assert len(errors) < 2, "one exception at most"
        assert len(queue) == 0
        queue.close()


NOWHERE = "neither a file nor its server shows how much it stores"

MIB = 1 << 20
FEW, MANY = 8, 48
"""Items of a MiB that pass: where the first few leave little behind, the many do too."""


@check("queue.persist.room", depends_on="push:0 push:1 pop reopen pop")
def what_is_gone_takes_no_room(open_queue, sized, directory):
    """What was popped gives its room back, on the disk or in the server, while the queue is in use, though it is never empty."""
    if not offers("filesystem"):
        raise NotCovered(NOWHERE) if offers("server") else NotApplicable("it stores in no files")
    options = {"chunksize": 2} if offers("chunked") else {}
    queue = open_queue(**options)
    with may_raise() as refused:
        queue.push(sized(MIB))
    if refused:
        raise NotCovered("it refuses an item of a MiB")
    if getattr(queue.raw, "chunksize", 0) > MANY:
        raise NotCovered(f"it frees the disk by chunks of {queue.raw.chunksize} items, which are more than pass here")
    with under_test():
        pass_through(queue, sized(MIB), FEW)
        size = bytes_below(directory)
        if size > FEW * MIB:  # nothing has been given back yet
            pass_through(queue, sized(MIB), MANY - FEW)
            size = bytes_below(directory)
        assert size < MANY // 2 * MIB, f"less than {MANY // 2} MiB on disk: {MANY} MiB passed, and one is left"
    queue.close()


KIB64 = 1 << 16
PASSED = 64
"""Items of 64 KiB that pass through a server: what takes the room of half of them keeps more than the one that is left."""


@check("queue.persist.room", name="persist.room.server", depends_on="push:0 push:1 pop reopen pop")
def what_is_gone_takes_no_room_in_a_server(open_queue, sized, room_in_server):
    """What was popped gives its room back, on the disk or in the server, while the queue is in use, though it is never empty."""
    queue = open_queue()
    with may_raise() as refused:
        queue.push(sized(KIB64))
    if refused:
        raise NotCovered("it refuses an item of 64 KiB")
    if room_in_server() < KIB64:
        raise NotCovered(NOWHERE)
    with under_test():
        pass_through(queue, sized(KIB64), PASSED)
        room = room_in_server()
        assert room < PASSED // 2 * KIB64, f"less than {PASSED // 2 * 64} KiB in the server: one of {PASSED} items is left"
    queue.close()

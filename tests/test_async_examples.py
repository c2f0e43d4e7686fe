"""The examples of qCrawl's documentation (Extending, Scheduler) run with the reference scheduler, word for word.

Two of them cannot run as they stand there, whatever the scheduler: a custom queue without ``maxsize`` and ``clear`` cannot be
built, and ``join`` before the end of ``async with`` waits for the request that the example leaves in the queue.
"""

import asyncio
import textwrap

import pytest

pytest.importorskip("qcrawl", reason="needs qCrawl")

from qcrawl.core.crawler import Crawler
from qcrawl.core.request import Request

from queue_reference import async_scheduler

MANUAL = """
from qcrawl.core.queues.memory import MemoryPriorityQueue

# Create scheduler manually
queue = MemoryPriorityQueue(maxsize=1000)
fingerprinter = RequestFingerprinter()
scheduler = Scheduler(queue=queue, fingerprinter=fingerprinter)

async with scheduler:
    # Add requests
    await scheduler.add("https://example.com")
    await scheduler.add(Request(url="https://example.com/page", priority=10))

    # Get next request
    request = await scheduler.get()

    # Process request...

    # Mark as done
    scheduler.task_done()

# Wait for all work to complete
await scheduler.join()
"""

GRACEFUL = """
# Close scheduler (prevents new adds)
await scheduler.close()

# Wait for pending work to complete
await scheduler.join()
"""

MONITORING = """
stats = await scheduler.stats()
is_idle = stats["queued"] == 0 and stats["pending"] == 0
queue_size = await scheduler.qsize()
"""

CUSTOM = """
from qcrawl.core.queue import RequestQueue
from qcrawl.core.request import Request

class CustomQueue(RequestQueue):
    async def put(self, request: Request, priority: int = 0) -> None:
        \"\"\"Add request to queue with priority.\"\"\"
        # Your implementation
        pass

    async def get(self) -> Request:
        \"\"\"Get next request (highest priority first).\"\"\"
        # Your implementation
        pass

    async def size(self) -> int:
        \"\"\"Return number of queued requests.\"\"\"
        # Your implementation
        pass

    async def close(self) -> None:
        \"\"\"Close queue and cleanup resources.\"\"\"
        # Your implementation
        pass
"""


def run(example, **names):
    """Run the text of an example inside a coroutine, for two seconds at most; return its variables."""
    names |= {"Request": Request, "Scheduler": async_scheduler.Scheduler}
    names |= {"RequestFingerprinter": async_scheduler.RequestFingerprinter, "asyncio": asyncio}
    source = f"async def main():\n{textwrap.indent(example, '    ')}\n    return locals()"
    exec(source, names)
    return asyncio.run(asyncio.wait_for(names["main"](), 2))


def test_the_scheduler_can_be_controlled_by_hand():
    variables = run(MANUAL)
    assert variables["request"].url == "https://example.com/"  # qCrawl's queue serves the lowest number first


def test_a_shutdown_is_graceful():
    prepare = """
    from qcrawl.core.queues.memory import MemoryPriorityQueue
    scheduler = Scheduler(queue=MemoryPriorityQueue(), fingerprinter=RequestFingerprinter())
    await scheduler.add("https://example.com")
    waiting = asyncio.create_task(scheduler.get())
    request = await waiting
    await scheduler.add("https://example.com/left")
    asyncio.get_running_loop().call_later(0.01, scheduler.task_done)
    """
    run(textwrap.dedent(prepare) + GRACEFUL)


def test_the_scheduler_can_be_monitored():
    prepare = """
    from qcrawl.core.queues.memory import MemoryPriorityQueue
    scheduler = Scheduler(queue=MemoryPriorityQueue(), fingerprinter=RequestFingerprinter())
    await scheduler.add("https://example.com")
    """
    variables = run(textwrap.dedent(prepare) + MONITORING)
    assert variables["queue_size"] == 1
    assert not variables["is_idle"]
    assert variables["stats"] == {"queued": 1, "pending": 0, "seen": 1, "waiting_consumers": 0, "closed": 0}


def test_the_custom_queue_works_once_it_is_complete():
    with pytest.raises(TypeError, match="abstract"):
        run(f"{CUSTOM}\nqueue = CustomQueue()")
    complete = """
    class CompleteQueue(CustomQueue):
        def maxsize(self):
            return 0

        async def clear(self):
            pass

        async def size(self):
            return 0

    scheduler = Scheduler(queue=CompleteQueue(), fingerprinter=RequestFingerprinter())
    waiting = asyncio.create_task(scheduler.get())
    await asyncio.sleep(0.01)
    await scheduler.add("https://example.com")
    request = await waiting
    scheduler.task_done()
    """
    assert run(CUSTOM + textwrap.dedent(complete) + GRACEFUL)["request"].url == "https://example.com/"


def test_no_crawler_of_this_release_has_an_engine_before_it_crawls():
    from qcrawl.core.spider import Spider
    from qcrawl.settings import Settings

    class Example(Spider):
        name = "example"
        start_urls = ["https://example.com/"]  # noqa: RUF012

        async def parse(self, response):
            yield {}

    assert Crawler(Example(), Settings()).engine is None

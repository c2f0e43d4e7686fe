"""What several checks of asynchronous schedulers share."""

from queue_conformance.engine.ways import Named

MEMORY = Named("MemoryQueue", "over a queue in memory")
OF_QCRAWL = Named("MemoryPriorityQueue", "over the queue in memory of qCrawl")
DISK = Named("DiskQueue", "over a queue on disk")
SUSPENDING = Named("SuspendingQueue", "over a queue that lets other tasks run")
SLOW = Named("SlowQueue", "over a slow queue")
"""The classes of the queues below the scheduler."""

WORKS = "add:0 settle get settle join settle done settle"
"""A request goes through, and ``join`` notices; a later failure has another cause."""

ITEMS = 8
"""How many items sequences add with each of the fields that requests have; those below this number are plain."""


NUMBERS = ("queued", "pending", "seen", "waiting_consumers", "closed")
"""What ``stats()`` has."""

ON_STOCK_LOOP = "it works on the stock event loop alone, and schedulers are tested on a simulated one"

"""What several checks of asynchronous schedulers share."""

WORKS = "add:0 settle get settle join settle done settle"
"""A request goes through, and ``join`` notices; a later failure has another cause."""

ITEMS = 8
"""How many items sequences add with each of the fields that requests have; those below this number are plain."""

LOST = "ascheduler.get.no-lost-wakeup"
"""The rule on requests that wait beside a consumer."""

NUMBERS = ("queued", "pending", "seen", "waiting_consumers", "closed")
"""What ``stats()`` has."""

ON_STOCK_LOOP = "it works on the stock event loop alone, and schedulers are tested on a simulated one"

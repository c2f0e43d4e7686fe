"""What several checks of asynchronous schedulers share."""

WORKS = "add:0 settle get settle join settle done settle"
"""A request goes through, and ``join`` notices; a later failure has another cause."""

LOST = "ascheduler.get.no-lost-wakeup"
"""The rule on requests that wait beside a consumer."""

NO_HANG = "ascheduler.add.full-no-hang"

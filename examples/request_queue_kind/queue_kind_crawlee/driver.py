"""The driver of request queues: ``cls()``, URLs to add, and coroutines that a runner of asyncio runs to their end."""

import asyncio
from typing import Any

from queue_conformance.engine.driver import Driver
from queue_conformance.engine.subject import Item
from queue_conformance.implementation.capabilities import Capabilities


class OpenRequestQueue:
    """One queue; every operation goes through the recorder."""

    def __init__(self, raw, recorder, runner):
        self.raw, self.recorder, self.runner = raw, recorder, runner

    def call(self, operation, rule="rq.fetch", target="", **values):
        """Run a coroutine of the queue, such as ``fetch_next_request()``, as one operation that may fail a rule."""
        source = f"{target}runner.run(queue.{operation})"
        return self.recorder.call(
            source, rule, lambda: self.runner.run(eval(f"queue.{operation}", {"queue": self.raw, **values}))
        )


class RequestQueueDriver(Driver):
    """Builds queues in a loop of their own."""

    constructor_rule = interface_rule = "rq.interface"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.runner = asyncio.Runner()

    def construction(self, name, **options):
        async def build() -> Any:
            return self.implementation.cls(**self.implementation.values)

        values = ", ".join(f"{key}={value!r}" for key, value in self.implementation.values.items())
        return f"{self.class_name}({values})", lambda: self.runner.run(build())

    def open(self, name="0", variable="queue", rule=None, **options):
        source, build = self.construction(name)
        return OpenRequestQueue(self.recorder.call(f"queue = {source}", self.constructor_rule, build), self.recorder, self.runner)

    def probe(self, workdir):
        return Capabilities()

    def setup(self, body):
        return ["runner = asyncio.Runner()"]

    def imports(self, body):
        return ["import asyncio"]

    def _item(self, number):
        url = f"https://example.com/{number}"
        return Item(url, repr(url), number)

    def evaluate(self, source):
        return Item(eval(source), source)

    def identify(self, value):
        found = getattr(value, "url", "").rpartition("/")[2]
        return int(found) if found.isdecimal() else None

    def same(self, value, item):
        return getattr(value, "url", None) == item.value

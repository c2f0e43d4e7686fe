"""How a scheduler is made up: which queues its settings name, and in which order these give what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from packaging.version import Version
from scrapy import Request
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.utils.misc import load_object

from queue_conformance.engine.context import CheckContext
from queue_conformance.implementation.capabilities import Order
from queue_conformance.kinds.scheduler.faulty import FaultPlan, faulty
from queue_conformance.kinds.scheduler.model import Layout, Place, SchedulerModel
from queue_conformance.kinds.scheduler.pool import traits
from queue_conformance.kinds.scheduler.script_support import number_of
from queue_conformance.specification.applicability import installed_releases

QUEUES = ("SCHEDULER_DISK_QUEUE", "SCHEDULER_MEMORY_QUEUE", "SCHEDULER_START_DISK_QUEUE", "SCHEDULER_START_MEMORY_QUEUE")
"""The settings that name the classes of queues."""

IN_JOB = "it is tested with a job directory only: its settings name one"
"""Why nothing is asked of a scheduler without one that needs it, or may need it."""

FIFO = {
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
"""Settings that name queues whose order is first in, first out."""


def layout_of(context: CheckContext) -> Layout:
    """Return how the scheduler of a context is made up, as its settings say."""
    driver, offered = context.driver, context.offers
    if not offered("configurable"):
        unknown = dict.fromkeys(Place, Order.NONE)
        priorities = not offered("unprioritized")
        return Layout(unknown, {}, offered("slots"), filters=offered("filters"), memory_first=False, priorities=priorities)
    orders, start_orders = {}, {}
    for place in Place:
        orders[place] = order_of(driver.setting(f"SCHEDULER_{place.upper()}_QUEUE"))
        if start := driver.setting(f"SCHEDULER_START_{place.upper()}_QUEUE"):
            start_orders[place] = order_of(start)
    start_last = Version(installed_releases()["scrapy"]) >= Version("2.13.1")
    turns = load_object(driver.setting("SCHEDULER_PRIORITY_QUEUE")) is not ScrapyPriorityQueue
    return Layout(orders, start_orders, offered("slots"), start_last, offered("filters"), turns=turns)


def order_of(setting: Any) -> Order:
    """Return the order of a class of queues, if its name or that of a base says it."""
    for cls in load_object(setting).__mro__:
        for order in (Order.FIFO, Order.LIFO):
            if order.capitalize() in cls.__name__:
                return order
    return Order.NONE


def settings_of(context: CheckContext) -> dict[str, Any]:
    """Return the settings that put a queue which can be made to fail over each disk queue of the author's settings."""
    found = {name: context.driver.setting(name) for name in ("SCHEDULER_DISK_QUEUE", "SCHEDULER_START_DISK_QUEUE")}
    return {name: faulty(queue) for name, queue in found.items() if queue}


def rule_of_loss(context: CheckContext, number: int) -> str:
    """Return the rule that a pause breaks which loses a request: another one for what came to none of :func:`settings_of`."""
    seen = FaultPlan.refusals or any(number_of(Request(url)) == number for url in FaultPlan.stored)
    return "scheduler.enqueue.true" if seen or not context.offers("configurable") else "scheduler.enqueue.disk-first"


def order_rule(context: CheckContext, model: SchedulerModel, number: int, allowed: list[int]) -> str:
    """Return the rule that fails where a request came too early, and one of those that are ``allowed`` was due."""
    mine = traits(number)
    same_slot = [n for n in allowed if traits(n).slot == mine.slot] if context.offers("slots") else []
    same_slot = same_slot or list(allowed)
    same_slot.sort(key=lambda n: (traits(n).priority != mine.priority, traits(n).slot != mine.slot))
    first = traits(same_slot[0])
    if mine.priority != first.priority or not context.offers("configurable"):
        return "scheduler.next.priority"
    memory, disk = model.stored(Place.MEMORY), model.stored(Place.DISK)
    if number in disk and number not in memory and same_slot[0] in memory:
        return "scheduler.next.memory-first"
    place = Place.MEMORY if same_slot[0] in memory else Place.DISK
    if (mine.start or first.start) and not context.driver.setting(f"SCHEDULER_START_{place.upper()}_QUEUE"):
        return "scheduler.next.start-none"
    fifo = order_of(context.driver.setting(f"SCHEDULER_{place.upper()}_QUEUE")) is Order.FIFO
    return "scheduler.next.fifo-settings" if fifo and not first.start else "scheduler.next.default-order"


def jobs(context: CheckContext) -> Iterator[str | None]:
    """Yield no job directory if the scheduler can do without, and one if it can use it."""
    if not context.implementation.capabilities.needs_job:
        yield None
    if context.offers("persistent"):
        yield "job"

"""The first use of asynchronous schedulers, and what their authors claim."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.kinds.async_scheduler.scene import Scene

RULES: tuple[str, ...] = ("ascheduler.ctor", "ascheduler.add.forms")
SHOWN: tuple[str, ...] = ()


def preflight(bench: Bench) -> None:
    """Pass one request through a scheduler.

    Raises:
        RuleBroken: for the first thing that fails.
    """
    bench.restart()
    bench.driver.choose_loop(lambda: bench.driver.use(bench.driver.directory))
    if not bench.driver.simulated:
        bench.examined.update(RULES)
        return
    scene = Scene(bench, "ascheduler.add.forms")
    bench.expect("ascheduler.ctor", bench.driver.value("scheduler is not None"), "a scheduler", "None", "scheduler is not None")
    scene.blamed('loop.run(scheduler.add("https://example.com/1"))', "getting = loop.start(scheduler.get())", "loop.settle()")
    scene.expect_got("getting", 1)
    scene.steps("loop.call(scheduler.task_done)", "loop.run(scheduler.close())")


def show_absence(bench: Bench, rule: str, name: str) -> None:
    """Show that a claimed capability is not there; no capability of schedulers is claimed."""

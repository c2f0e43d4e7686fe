"""The first use of extensions that keep the state of spiders, and what their authors claim."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench

RULES = ("state.fresh",)
SHOWN = ("persistent", "filesystem")


def preflight(bench: Bench) -> None:
    """Begin a run in a new job, look at the state, and end it.

    Raises:
        RuleBroken: for the first thing that fails.
    """
    run = bench.open()
    state = getattr(run.spider, "state", None)
    bench.recorder.note('left = getattr(spider, "state", None)')
    expected = "an empty dictionary after spider_opened"
    bench.expect("state.fresh", isinstance(state, dict) and not state, expected, state, "left == {}", final=True)
    run.do("spider.state['count'] = 1")
    run.finish()


def show_absence(bench: Bench, rule: str, name: str) -> None:
    """Show in a few operations what probing found: that a claimed capability is not there."""
    run = bench.open()
    run.do("spider.state['count'] = 1")
    run.finish()
    if name == "persistent":
        run = bench.open()
        bench.recorder.note('left = getattr(spider, "state", None)')
        bench.fail(rule, f"{name}, as claimed", getattr(run.spider, "state", None), ["assert left == {'count': 1}, repr(left)"])
    bench.recorder.note(f"left = files_below({bench.driver.job_source()})")
    bench.fail(rule, f"{name}, as claimed", "no file in the job directory", ["assert left, 'no file'"])

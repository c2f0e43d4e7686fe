"""The commands on the state of a spider, in lockstep with a model, over several runs of one job."""

from __future__ import annotations

from typing import Any

from queue_conformance.engine.ablation import Ablation, drop, replace
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import Lockstep, command, machine
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.samples import REASONS
from queue_conformance.environments import runs
from queue_conformance.kinds.spider_state.driver import Run
from queue_conformance.kinds.spider_state.model import StateModel
from queue_conformance.script_support.example import same

VALUES = ("1", "'text'", "(1, 2)", "{'a', 'b'}", "{1: [2, {'three': None}]}", "datetime.datetime(2026, 1, 2)")
"""Values that callbacks set."""

UNPICKLABLE = "poison"
"""The key of a value that pickle cannot store."""


class StateLockstep(Lockstep):
    """The runs of one job, and the model of its spider's state."""

    needed = ("put", "reopen")
    ablations = (
        Ablation(replace("reopen", argument=0), "state.saved"),
        Ablation(replace("grow", name="assign"), "state.mutation"),
        Ablation(drop("put_unpicklable"), "state.failed-save-keeps"),
        Ablation(replace("tear", name="reopen", argument=0), "state.torn"),
    )

    def __init__(self, context: CheckContext, number: int) -> None:
        super().__init__(context, number)
        self.model = StateModel()
        self.run: Run = context.open()
        self._torn = False  # whether the files were cut since the last save
        self._save_failed = False
        # A new job that begins with something is shown by a check of its own, where no other sequence came before.
        self._lost_track = runs.state_of(self.run.spider) != {}

    # --- Commands --------------------------------------------------------------------------------------------------

    @command("state.restored", arguments=range(len(VALUES)))
    def put(self, item: int) -> None:
        """Set a value."""
        self._do(f"spider.state['key{item % 3}'] = {VALUES[item]}")

    @command(arguments=range(3))
    def grow(self, item: int) -> None:
        """Change a value in place."""
        self._do(f"spider.state.setdefault('list', []).append({item})")

    @command(arguments=range(3))
    def forget(self, item: int) -> None:
        """Remove a value."""
        self._do(f"spider.state.pop('key{item}', None)")

    @command()
    def clear(self) -> None:
        """Remove all values."""
        self._do("spider.state.clear()")
        self.model.unpicklable = False

    @command(weight=0)
    def assign(self, item: int) -> None:
        """Make the same change as ``grow``, but not in place; only ablations do that."""
        self._do(f"spider.state['list'] = [*spider.state.get('list', []), {item}]")

    @command()
    def put_unpicklable(self) -> None:
        """Set a value that cannot be stored; it is gone in the next run."""
        self._do(f"spider.state[{UNPICKLABLE!r}] = lambda: None")
        self.model.unpicklable = True

    @command(arguments=range(len(REASONS)))
    def reopen(self, reason: int) -> None:
        """End the run cleanly, begin the next one, and compare the state that it begins with."""
        self._close(REASONS[reason])
        if self._lost_track:
            return
        self._open()
        state = self._begins_with()
        if self._save_failed and isinstance(state, dict) and UNPICKLABLE in state:
            self._lost_track = True  # it can store what pickle cannot
            return
        expected = self.sources.give(self.model.state, repr(self.model.state))
        rule = "state.failed-save-keeps" if self._save_failed else "state.restored"
        said = f"spider.state {expected!r}"
        self.expect(rule, lambda left: left == expected, state, expected=said)
        self.expect(rule, lambda left: same(left, expected), state, expected=said)

    @command("state.torn", arguments=(1, 4))
    def tear(self, number: int) -> None:
        """End the run, cut the end of the files, and begin the next run, which may be refused."""
        self._close()
        job = self.sources.give(self.context.driver.job(), self.context.driver.job_source())
        self.perform(runs.cut_files, job, number)
        self._torn = True
        self.model.damaged()
        if self._lost_track:
            return
        try:
            self._open()
        except OperationRaised as raised:
            if not isinstance(raised.error, Exception):
                raise
            self._lost_track = True  # refused before the spider ran
            return
        state = self._begins_with()
        self.expect("state.torn", lambda left: isinstance(left, dict), state, expected="a dictionary", final=True)
        self.model.adopt(state)  # whatever could be read

    def finish(self) -> None:
        """End the run, look at what the next one finds, and end that."""
        self.reopen(0)
        self._close()

    # --- Comparisons ---------------------------------------------------------------------------------------------------

    def _do(self, source: str) -> None:
        """Let a callback do something, with the state of the spider and with that of the model."""
        if not self._lost_track:
            self.run.do(source)
            exec(source, {**self.context.driver.names, "spider": self.model})

    def _close(self, reason: str = REASONS[0]) -> None:
        if self._lost_track:
            return
        self.run.finish(reason)
        self._save_failed = self.model.unpicklable
        if self._save_failed:
            # Of a run that began with a file that could not be read, nothing says what its failed save leaves.
            self._lost_track = self._torn
        else:
            self._torn = False
        self.model.close()

    def _open(self) -> None:
        """Begin the next run."""
        self.run = self.context.open(rule="state.restored")
        self.model.open()

    def _begins_with(self) -> Any:
        """Return the state that a run begins with."""
        return self.perform(runs.state_of, self.sources.give(self.run.spider, "spider"), name="left")


LOCKSTEP = StateLockstep

machine(StateLockstep)

"""The commands on the state of a spider, in lockstep with a model, over several runs of one job."""

from __future__ import annotations

from queue_conformance.engine.ablation import Ablation, drop, replace
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import Lockstep, command, machine
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.samples import REASONS
from queue_conformance.environments import runs as running
from queue_conformance.kinds.spider_state.driver import Run
from queue_conformance.kinds.spider_state.model import StateModel
from queue_conformance.script_support.example import same

FRESH = "state.fresh"
RESTORED = "state.restored"
SAVED = "state.saved"
MUTATION = "state.mutation"
KEEPS = "state.failed-save-keeps"
TORN = "state.torn"

VALUES = ("1", "'text'", "(1, 2)", "{'a', 'b'}", "{1: [2, {'three': None}]}", "datetime.datetime(2026, 1, 2)")
"""Values that callbacks set."""

UNSTORABLE = "lambda: None"


class StateLockstep(Lockstep):
    """The runs of a job and their model."""

    needed = ("put", "reopen")
    ablations = (
        Ablation(replace("reopen", argument=0), SAVED),
        Ablation(replace("grow", name="assign"), MUTATION),
        Ablation(drop("put_unpicklable"), KEEPS),
        Ablation(replace("tear", name="reopen", argument=0), TORN),
    )

    def __init__(self, context: CheckContext, number: int) -> None:
        super().__init__(context, number)
        self.model = StateModel()
        self.run: Run = context.open()
        # A new job that begins with something is shown by a check of its own, where no other sequence came before.
        self._lost_track = running.state_of(self.run.spider) != {}

    # --- Commands --------------------------------------------------------------------------------------------------

    @command(RESTORED, arguments=range(len(VALUES)))
    def put(self, item: int) -> None:
        """Set a value."""
        name, value = f"key{item % 3}", VALUES[item]
        self._do(f"spider.state[{name!r}] = {value}")
        if not self._lost_track:
            self.model.put(name, self.context.driver.evaluate(value).value)

    @command(arguments=range(3))
    def grow(self, item: int) -> None:
        """Change a value in place."""
        self._do(f"spider.state.setdefault('list', []).append({item})")
        if not self._lost_track:
            self.model.grow("list", item)

    @command(weight=0)
    def assign(self, item: int) -> None:
        """Make the same change as ``grow``, but not in place; only ablations do that."""
        self._do(f"spider.state['list'] = [*spider.state.get('list', []), {item}]")
        if not self._lost_track:
            self.model.grow("list", item)

    @command()
    def put_unpicklable(self, _argument: int = 0) -> None:
        """Set a value that cannot be stored; it is gone in the next run."""
        self._do(f"spider.state['poison'] = {UNSTORABLE}")
        self.model.poisoned = True

    @command(arguments=range(len(REASONS)))
    def reopen(self, reason: int) -> None:
        """End the run cleanly, and begin the next one."""
        self._close(REASONS[reason])
        self._open()

    @command(TORN, arguments=(1, 4))
    def tear(self, number: int) -> None:
        """End the run, cut the end of the files, and begin the next run, which may be refused."""
        self._close(REASONS[0])
        job = self.sources.give(self.context.driver.job(), self.context.driver.job_source())
        self.perform(running.cut_files, job, number)
        self.events.add("tear")
        self.model.damaged()
        try:
            self._open(torn=True)
        except OperationRaised as raised:
            if not isinstance(raised.error, Exception):
                raise
            self._lost_track = True  # refused before the spider ran

    def finish(self) -> None:
        """End the run, look at what the next one finds, and end that."""
        self.reopen(0)
        self._close(REASONS[0])

    # --- Comparisons ---------------------------------------------------------------------------------------------------

    def _do(self, source: str) -> None:
        if not self._lost_track:
            self.run.do(source, FRESH)

    def _close(self, reason: str) -> None:
        if not self._lost_track:
            self.run.finish(reason)
            self.events.discard("put_unpicklable")
            if self.model.poisoned:
                self.events.add("put_unpicklable")
                # Of a run that began with a file that could not be read, nothing says what its failed save leaves.
                self._lost_track = "tear" in self.events
            else:
                self.events.discard("tear")
            self.model.close()

    def _open(self, *, torn: bool = False) -> None:
        if self._lost_track:
            return
        self.run = self.context.open(rule=RESTORED)
        self.model.open()
        self._look(torn=torn)

    def _look(self, *, torn: bool = False) -> None:
        """Compare the state that a run begins with."""
        state = self.perform(running.state_of, self.sources.give(self.run.spider, "spider"), name="left")
        if torn:
            self.expect(TORN, lambda left: isinstance(left, dict), state, expected="a dictionary", final=True)
            self.model.adopt(state)  # whatever could be read
            return
        if "put_unpicklable" in self.events and isinstance(state, dict) and callable(state.get("put_unpicklable")):
            # It can store what pickle cannot.
            self._lost_track = True
            return
        expected = self.sources.give(self.model.current, repr(self.model.current))
        rule = KEEPS if "put_unpicklable" in self.events else RESTORED
        said = f"spider.state {expected!r}"
        self.expect(rule, lambda left: left == expected, state, expected=said)
        self.expect(rule, lambda left: same(left, expected), state, expected=said)


LOCKSTEP = StateLockstep

machine(StateLockstep)

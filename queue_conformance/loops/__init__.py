"""Event loops that are driven by hand: one whose time is virtual, and that of asyncio.

On both the turns of the loop, threads, cancellations and time are operations of a sequence like any other.
"""

from queue_conformance.loops.realtime import MUST_COME as MUST_COME
from queue_conformance.loops.realtime import Loop as Loop
from queue_conformance.loops.realtime import RealLoop as RealLoop
from queue_conformance.loops.simulation import Endless as Endless
from queue_conformance.loops.simulation import NeedsRealLoop as NeedsRealLoop
from queue_conformance.loops.simulation import NeverAtRest as NeverAtRest
from queue_conformance.loops.simulation import NeverReturns as NeverReturns
from queue_conformance.loops.simulation import SimulatedLoop as SimulatedLoop
from queue_conformance.loops.tasks import WAITING as WAITING
from queue_conformance.loops.tasks import Task as Task
from queue_conformance.loops.tasks import outcome_of as outcome_of
from queue_conformance.loops.tasks import place_of as place_of
from queue_conformance.loops.tasks import stuck as stuck
from queue_conformance.loops.tasks import table_of as table_of

"""Disk queues that fail when a check tells them to, and the faults by which it does.

Scripts import what they need from this file; it has no annotations.
"""

from scrapy.utils.misc import load_object

from queue_conformance.faults.fault import Fault


class FaultPlan:
    """What faulty queues do wrong, and what they saw."""

    pushes = []  # the errors of the next pushes
    empty_pops = 0  # how many pops return None while there is something
    stored = []  # the URLs of what was pushed
    refusals = 0  # how many requests could not be serialized
    errors = []  # what the queues themselves raised

    @classmethod
    def raises(cls, error):
        cls.pushes.append(error)

    @classmethod
    def says_nothing(cls):
        cls.empty_pops += 1

    @classmethod
    def ends(cls):
        cls.pushes, cls.empty_pops = [], 0


def faulty(path):
    """Return a queue class like the one of that path, which does what FaultPlan says."""
    base = load_object(path)

    class FaultyQueue(base):
        def push(self, request):
            if request.meta.get("refuse"):
                FaultPlan.refusals += 1
                raise ValueError("cannot be serialized")
            if FaultPlan.pushes:
                raise FaultPlan.pushes.pop(0)
            try:
                super().push(request)
            except Exception as error:
                FaultPlan.refusals += isinstance(error, ValueError)
                FaultPlan.errors.append(error)
                raise
            FaultPlan.stored.append(request.url)

        def pop(self):
            if FaultPlan.empty_pops and len(self):
                FaultPlan.empty_pops -= 1
                return None
            return super().pop()

    FaultyQueue.__qualname__ = f"faulty({path!r})"
    return FaultyQueue


def stored():
    """Return the URLs of what was pushed into faulty queues."""
    return list(FaultPlan.stored)


class PushRaises(Fault):
    """The next push into a faulty queue raises.

    ``error`` is what it raises, ``written`` how that is made in scripts.
    """

    name = "push that raises"
    place = ""

    def __init__(self, error, written=""):
        super().__init__()
        self.error, self.written = error, written or repr(error)
        self.is_ordinary = isinstance(error, ValueError)  # a request that cannot be serialized

    @property
    def source(self):
        return f"PushRaises({self.written})"

    def begin(self):
        FaultPlan.pushes.append(self.error)

    def end(self):
        self.hit = not FaultPlan.pushes
        FaultPlan.pushes.clear()


class EmptyPops(Fault):
    """Faulty queues return nothing although they hold something."""

    name = "pops that return nothing"
    place = ""

    @property
    def source(self):
        return "EmptyPops()"

    def begin(self):
        FaultPlan.empty_pops = 1000

    def end(self):
        self.hit = FaultPlan.empty_pops < 1000
        FaultPlan.empty_pops = 0

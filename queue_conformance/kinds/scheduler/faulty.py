"""Disk queues below a scheduler that do what they are told, and the faults that tell them.

Scripts import what they need from this file; it has no annotations.
"""

from scrapy.utils.misc import load_object

from queue_conformance.faults.fault import Fault


class Trouble:
    """What misbehaving queues do wrong, and what they saw."""

    pushes = []  # the errors of the next pushes
    silences = 0  # how many pops return None while there is something
    stored = []  # the URLs of what was pushed
    refusals = 0  # how many requests could not be serialized
    errors = []  # what the queues themselves raised

    @classmethod
    def raises(cls, error):
        cls.pushes.append(error)

    @classmethod
    def says_nothing(cls):
        cls.silences += 1

    @classmethod
    def ends(cls):
        cls.pushes, cls.silences = [], 0


def misbehaving(path):
    """Return a queue class like the one of that path, which does what Trouble says."""
    base = load_object(path)

    class MisbehavingQueue(base):
        def push(self, request):
            if request.meta.get("refuse"):
                Trouble.refusals += 1
                raise ValueError("cannot be serialized")
            if Trouble.pushes:
                raise Trouble.pushes.pop(0)
            try:
                super().push(request)
            except Exception as error:
                Trouble.refusals += isinstance(error, ValueError)
                Trouble.errors.append(error)
                raise
            Trouble.stored.append(request.url)

        def pop(self):
            if Trouble.silences and len(self):
                Trouble.silences -= 1
                return None
            return super().pop()

    MisbehavingQueue.__qualname__ = f'misbehaving("{path}")'
    return MisbehavingQueue


def stored():
    """Return the URLs of what was pushed into misbehaving queues."""
    return list(Trouble.stored)


def refusals():
    """Return how many requests misbehaving queues could not serialize."""
    return Trouble.refusals


class PushRaises(Fault):
    """The next push into a misbehaving queue raises.

    ``error`` is what it raises, ``written`` how that is made in scripts.
    """

    name = "push that raises"
    place = ""

    def __init__(self, error, written=""):
        super().__init__()
        self.error, self.written = error, written or repr(error)

    @property
    def source(self):
        return f"PushRaises({self.written})"

    def begin(self):
        Trouble.pushes.append(self.error)

    def end(self):
        self.hit = not Trouble.pushes
        Trouble.pushes.clear()


class EmptyPops(Fault):
    """Misbehaving queues return nothing although they hold something."""

    name = "pops that return nothing"
    place = ""

    @property
    def source(self):
        return "EmptyPops()"

    def begin(self):
        Trouble.silences = 1000

    def end(self):
        self.hit = Trouble.silences < 1000
        Trouble.silences = 0

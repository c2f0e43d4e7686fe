"""What a check is given to work with."""

import pytest
from kit import FIFO_MEMORY, context

from queue_conformance import TransientError
from queue_conformance.engine.outcomes import Outcome, TooSlow
from queue_conformance.engine.registry import Check
from queue_conformance.kinds.queue.kind import QUEUES
from queue_conformance.running.execution import observe


class Server:
    """A server to which something was done, or not."""

    def __init__(self, harmed):
        self.harmed, self.deserted = harmed, False


def transient():
    """Return the error of a queue that turns a time-out of its client into the documented one."""
    try:
        try:
            raise TimeoutError("no answer")
        except TimeoutError as error:
            raise TransientError("later") from error
    except TransientError as error:
        return error


@pytest.mark.parametrize("error", [TimeoutError("no answer"), TimeoutError(), transient()])
def test_a_time_out_proves_nothing_if_nothing_was_done_to_the_server(error):
    with context(FIFO_MEMORY) as made:
        made.backend = Server(harmed=False)
        with pytest.raises(TooSlow, match="answers too slowly here for the queue, which raises"):
            made.excuse(error)


def test_a_check_that_ends_in_such_a_time_out_tests_nothing():
    def times_out(made):
        made.backend = Server(harmed=False)
        made.recorder.call("queue.push(item)", "queue.push.accept", raises_a_time_out)

    def raises_a_time_out():
        raise TimeoutError("no answer")

    with context(FIFO_MEMORY) as made:
        rules = {"queue.push.accept": made.specification["queue.push.accept"]}
        result = observe(Check("timed", ("queue.push.accept",), QUEUES, times_out, __name__), made, rules)
    assert [observation.outcome for observation in result.observations] == [Outcome.NOT_COVERED]


@pytest.mark.parametrize(
    ("server", "error"),
    [(Server(harmed=True), TimeoutError("no answer")), (Server(harmed=False), OSError("no")), (None, TimeoutError("no"))],
)
def test_other_errors_count(server, error):
    with context(FIFO_MEMORY) as made:
        made.backend = server
        made.excuse(error)

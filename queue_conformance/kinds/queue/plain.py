"""What scripts quote for a queue without a server, whose requests have no bodies: nothing has to be waited for.

For all others they quote :mod:`~queue_conformance.script_support.support`, and :mod:`~queue_conformance.kinds.queue.at_once`.
"""


def contents(requests):
    return sorted(request.url for request in requests if request is not None)


def drain(queue, most=50):
    popped = [queue.pop() for _ in range(most)]
    queue.close()
    return contents(popped)

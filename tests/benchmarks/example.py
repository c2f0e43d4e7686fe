"""What one sequence of the machine costs, and how much of that is generation, the kit, and the queue itself."""

import sys
import time
from pathlib import Path
from random import Random

sys.path[:0] = [str(Path(__file__).parent.parent)]

from kit import context  # noqa: E402

from queue_conformance.engine.generation import explore, generate  # noqa: E402
from queue_conformance.engine.runner import runner_of  # noqa: E402
from queue_conformance.engine.sequences import USUAL  # noqa: E402

EXAMPLES = 400
PATHS = ("scrapy.squeues.FifoMemoryQueue", "scrapy.squeues.PickleFifoDiskQueue", "scrapy.squeues.PickleFifoSQLiteQueue")


def main() -> None:
    """Print the costs."""
    for path in PATHS:
        with context(path) as found:
            found.examples = EXAMPLES
            runner = runner_of(found)
            drawn, drawing = draw(runner)
            queue_alone = of_queue(found, drawn)
            started = time.process_time()
            explore(runner)
            everything = time.process_time() - started
        each = 1000 / EXAMPLES
        print(
            f"{path}: {everything * each:.2f} ms per sequence of {sum(map(len, drawn)) / EXAMPLES:.0f} operations; "
            f"drawing {drawing * each:.2f} ms, the queue itself {queue_alone * each:.2f} ms, "
            f"model and records {(everything - drawing - queue_alone) * each:.2f} ms"
        )


def draw(runner):
    """Return the sequences of a machine, and the seconds that it takes to generate them."""
    started = time.process_time()
    random = Random(0)
    drawn = [generate(random, runner.table, USUAL.longest) for _ in range(EXAMPLES)]
    return drawn, time.process_time() - started


def of_queue(found, drawn) -> float:
    """Return the seconds that the bare calls of the sequences take, without model, records and ablations."""
    started = time.process_time()
    for operations in drawn:
        found.restart()
        queues = {}
        for operation in operations:
            if operation.subject not in queues:
                queues[operation.subject] = found.driver.construction(str(operation.subject))[1]()
            queue = queues[operation.subject]
            if operation.name == "push":
                queue.push(found.driver.item(operation.argument + 100 * operation.subject).value)
            elif operation.name in ("pop", "peek"):
                getattr(queue, operation.name)()
            elif operation.name in ("length", "truth"):
                len(queue)
            elif operation.name == "reopen":
                queue.close()
                queues[operation.subject] = found.driver.construction(str(operation.subject))[1]()
        for queue in queues.values():
            while queue.pop() is not None:
                pass
            queue.close()
    return time.process_time() - started


if __name__ == "__main__":
    main()

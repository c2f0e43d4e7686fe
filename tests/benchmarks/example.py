"""What one program of the machine costs, and how much of that is Hypothesis, the kit, and the queue itself."""

import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent)]

from hypothesis import given, seed  # noqa: E402
from kit import bench  # noqa: E402

from queue_conformance.suites import player_of  # noqa: E402
from queue_conformance.suites.machine import explore, our_settings, programs, repeatable  # noqa: E402

EXAMPLES = 400
PATHS = ("scrapy.squeues.FifoMemoryQueue", "scrapy.squeues.PickleFifoDiskQueue", "scrapy.squeues.PickleFifoSQLiteQueue")


def main() -> None:
    """Print the costs."""
    for path in PATHS:
        with bench(path) as found:
            found.examples = EXAMPLES
            player = player_of(found)
            drawn, drawing = draw(player.table)
            queue_alone = of_queue(found, drawn)
            started = time.process_time()
            explore(player, needed=())
            everything = time.process_time() - started
        each = 1000 / EXAMPLES
        print(
            f"{path}: {everything * each:.2f} ms per program of {sum(map(len, drawn)) / EXAMPLES:.0f} operations; "
            f"drawing {drawing * each:.2f} ms, the queue itself {queue_alone * each:.2f} ms, "
            f"oracle and records {(everything - drawing - queue_alone) * each:.2f} ms"
        )


def draw(table):
    """Return the programs of a machine, and the seconds that it takes to draw them."""
    drawn = []

    @seed(0)
    @our_settings(EXAMPLES)
    @given(programs(table))
    def keep(operations):
        drawn.append(operations)

    started = time.process_time()
    with repeatable():
        keep()
    return drawn, time.process_time() - started


def of_queue(found, drawn) -> float:
    """Return the seconds that the bare calls of the programs take, without oracle, records and experiments."""
    started = time.process_time()
    for operations in drawn:
        found.restart()
        queues = {}
        for operation in operations:
            if operation.queue not in queues:
                queues[operation.queue] = found.driver.construction(str(operation.queue))[1]()
            queue = queues[operation.queue]
            if operation.name == "push":
                queue.push(found.driver.item(operation.item + 100 * operation.queue).value)
            elif operation.name in ("pop", "peek"):
                getattr(queue, operation.name)()
            elif operation.name in ("length", "truth"):
                len(queue)
            elif operation.name == "reopen":
                queue.close()
                queues[operation.queue] = found.driver.construction(str(operation.queue))[1]()
        for queue in queues.values():
            while queue.pop() is not None:
                pass
            queue.close()
    return time.process_time() - started


if __name__ == "__main__":
    main()

from tempfile import mkdtemp
from timeit import timeit

from queuelib.queue import FifoSQLiteQueue

for count in (1_000, 16_000):
    queue = FifoSQLiteQueue(f"{mkdtemp()}/requests")
    for number in range(count):
        queue.push(b"https://example.com/%d".ljust(300) % number)
    print(count, f"{timeit(lambda queue=queue: len(queue), number=100) * 10_000:.0f} µs")

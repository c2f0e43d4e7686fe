"""What a default run costs: seconds of processor time per class, and where they go.

Each class is tested by ``pytest --queue-class=...`` in an empty directory, three times; the median is printed. Then the
checks that took longest are listed.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile

CLASSES = (
    "scrapy.squeues.FifoMemoryQueue",
    "queue_reference.memory.FifoMemoryQueue",
    "queuelib.queue.FifoMemoryQueue",
    "queuelib.PriorityQueue",
    "scrapy.squeues.PickleFifoDiskQueue",
    "scrapy.squeues.PickleLifoDiskQueue",
    "scrapy.squeues.PickleFifoSQLiteQueue",
    "queue_reference.disk.FifoDiskQueue",
    "queuelib.queue.FifoDiskQueue",
)
TIMES = 3


def run(path: str) -> tuple[float, list[str]]:
    """Test a class; return the seconds on the processor, and the longest checks."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as directory:
        before = os.times()
        command = [sys.executable, "-m", "pytest", "-q", "--durations=4", "--durations-min=0.1", f"--queue-class={path}"]
        ended = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
        after = os.times()
    longest = re.findall(r"^([\d.]+s) call +\S+::(\S+)$", ended.stdout, re.MULTILINE)
    spent = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return spent, [f"{name} {taken}" for taken, name in longest]


def main() -> None:
    """Print the costs."""
    for path in CLASSES:
        runs = [run(path) for _ in range(TIMES)]
        print(f"{statistics.median(spent for spent, _ in runs):5.1f} s  {path}  ({', '.join(runs[-1][1])})", flush=True)


if __name__ == "__main__":
    main()

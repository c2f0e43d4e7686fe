"""What the idle plugin adds to a run of pytest on one test.

Runs pytest in pairs, with the plugin and with ``-p no:queue_conformance``, and prints the median of the differences.
Bytecode is cached, as it is for users.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAIRS = 40


def seconds(directory: str, *arguments: str) -> tuple[float, float]:
    """Run pytest once; return the seconds on the clock and on the processor."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, "test_one.py"]
    subprocess.run(command, cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL)
    elapsed, after = time.perf_counter() - started, os.times()
    return elapsed, (after.children_user - before.children_user) + (after.children_system - before.children_system)


def main() -> None:
    """Print the differences."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "test_one.py").write_text("def test_one(): pass\n")
        without = ("-p", "no:queue_conformance")
        for _ in range(3):
            seconds(directory)
            seconds(directory, *without)
        pairs = [(seconds(directory), seconds(directory, *without)) for _ in range(PAIRS)]
    for index, name in enumerate(("on the clock", "on the processor")):
        differences = [1000 * (idle[index] - bare[index]) for idle, bare in pairs]
        bare = statistics.median(1000 * bare[index] for _, bare in pairs)
        print(f"idle plugin, {name}: {statistics.median(differences):+.1f} ms on top of {bare:.0f} ms (median of {PAIRS} pairs)")


if __name__ == "__main__":
    main()

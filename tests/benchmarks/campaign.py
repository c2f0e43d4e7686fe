"""What a campaign finds of bugs that a default run misses, and how much of its time is spent in checks.

The first argument is the number of minutes (default: 5), the second one that of workers (default: 2).
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from queue_reference.memory import FifoMemoryQueue

BUGS = (
    "peek peek peek peek",
    "peek peek peek peek peek",
    "len len len len",
    "len pop peek pop pop",
    "len peek push len push",
    "pop peek peek len len",
    "push len pop len len",
    "pop peek peek push len",
    "push pop len peek len push",
    "len push peek len pop pop",
    "pop push pop pop len peek",
    "push push pop peek pop push peek",
)
"""The operations after which each queue puts its last request first."""

LONG = "60 peeks"
"""What a further bug needs: more operations than a sequence of a default run has."""

LONGEST = max(len(operations.split()) for operations in BUGS)


class Recalls(FifoMemoryQueue):
    """A queue that knows its last operations, and is wrong after some."""

    wrong_after = ""

    def __init__(self):
        super().__init__()
        self._last = []

    def _note(self, operation):
        self._last = [*self._last, operation][-LONGEST:]
        if " ".join(self._last).endswith(self.wrong_after):
            self._requests.rotate(1)

    def push(self, request):
        self._note("push")
        super().push(request)

    def pop(self):
        self._note("pop")
        return super().pop()

    def peek(self):
        self._note("peek")
        return super().peek()

    def __len__(self):
        self._note("len")
        return super().__len__()


class Tires(FifoMemoryQueue):
    """A queue that puts its last request first with each peek after the sixtieth."""

    peeks = 60

    def __init__(self):
        super().__init__()
        self._peeks = 0

    def peek(self):
        self._peeks += 1
        if self._peeks > self.peeks:
            self._requests.rotate(1)
        return super().peek()


for number, operations in enumerate(BUGS, 1):
    globals()[f"Bug{number}"] = type(f"Bug{number}", (Recalls,), {"wrong_after": operations, "__module__": __name__})


def main(minutes: str = "5", workers: str = "2") -> None:
    """Run a campaign on all of them, and print what it found when."""
    bugs = {**{f"Bug{number}": operations for number, operations in enumerate(BUGS, 1)}, "Tires": LONG}
    with tempfile.TemporaryDirectory() as directory:
        tables = (f'[tool.queue_conformance.implementations.{name}]\nqueue-class = "campaign.{name}"\n' for name in bugs)
        Path(directory, "pyproject.toml").write_text("".join(tables))
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        command = [sys.executable, "-m", "queue_conformance", "campaign", f"--minutes={minutes}", f"--workers={workers}"]
        subprocess.run(command, cwd=directory, env=environment, check=False, stdout=subprocess.DEVNULL)
        lines = Path(directory, "queue-conformance-campaign", "campaign.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    tasks = [record for record in records if record["type"] == "task"]
    findings = [record for record in records if record["type"] == "finding"]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    hours = (used.ru_utime + used.ru_stime) / 3600
    for name, operations in bugs.items():
        drawn, found = 0, ""
        for record in records:
            if record["implementation"] == name:
                drawn += record.get("sequences", 0)
                if record["type"] == "finding":
                    found = f"found by the task after {drawn} sequences, with seed {record['seed']}"
                    break
        print(f"{operations:36} {found or f'not found in {drawn} sequences'}")
    seconds, checking = (sum(task[key] for task in tasks) for key in ("seconds", "checking"))
    found_bugs = {record["implementation"] for record in findings}
    print(
        f"{len(found_bugs)} of {len(bugs)} bugs, {len(findings)} findings in {60 * hours:.1f} minutes on the processor: ", end=""
    )
    print(f"{len(found_bugs) / hours:.0f} bugs per hour; {checking / seconds:.0%} of the time of {len(tasks)} tasks is in checks")


if __name__ == "__main__":
    main(*sys.argv[1:])

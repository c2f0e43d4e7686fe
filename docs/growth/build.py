"""Measure what released classes cost as they grow, for ``docs/growth.md``: ``python build.py [GROUP...]``.

What was measured of a group in ``growth.toml`` is kept in ``measured/GROUP.jsonl``, and drawn in ``_static/growth-GROUP.svg``.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

DOCS = Path(__file__).parent.parent
sys.path.insert(0, str(DOCS))

from parts.growth import GROUPS, HERE, ORIGIN, file_of  # noqa: E402 - found by the path above

from queue_conformance.specification.suggestion import did_you_mean  # noqa: E402

DRAWINGS = DOCS / "_static"
MEASURED = ("scrapy", "queuelib", "qcrawl", "scrapy-redis", "redis")
PROGRAM = Path(sys.executable).with_name("queue-conformance")


def main(names: Sequence[str]) -> int:
    """Measure the groups of these names, all if there is none; return the exit status."""
    for name in names:
        if name not in GROUPS:
            print(f"there is no group {name!r}{did_you_mean(name, GROUPS)}", file=sys.stderr)
            return 2
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    for name in names or GROUPS:
        file, drawing = file_of(name), DRAWINGS / f"growth-{name}.svg"
        file.parent.mkdir(exist_ok=True)
        print(f"== {name}", flush=True)
        command = [
            PROGRAM,
            "measure",
            *GROUPS[name]["classes"],
            *GROUPS[name]["options"],
            f"--output={file}",
            f"--output={drawing}",
        ]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True)
    ORIGIN.write_text(f"{json.dumps(_origin(), indent=2)}\n", "utf-8")
    return 0


def _origin() -> dict[str, object]:
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "releases": {name: version(name) for name in MEASURED},
        "python": platform.python_version(),
        "processors": os.cpu_count(),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What a run costs as its classes and its examples grow, and what a browser makes of a page on many implementations.

Times are those of processors; memory is the largest of all processes of a run together, what they share counted once (Linux).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from selenium import webdriver

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from made_reports import implementation, report  # noqa: E402 - found by the path above

from queue_conformance.kinds import DOWNSTREAM_QUEUE  # noqa: E402
from queue_conformance.reports import html  # noqa: E402
from queue_conformance.specification import load  # noqa: E402

CLASSES = (1, 10, 40)
EXAMPLES = (100, 400, 1600)
IMPLEMENTATIONS = (1, 10, 100)

MODULE = "from queue_reference.memory import FifoMemoryQueue\n" + "".join(
    f"\n\nclass Queue{number}(FifoMemoryQueue):\n    pass\n" for number in range(max(CLASSES))
)


def main() -> None:
    """Print what it costs."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "many.py").write_text(MODULE)
        for count in CLASSES:
            classes = [f"--queue-class=many.Queue{number}" for number in range(count)]
            print(f"{count} memory queues: {cost(directory, *classes)}", flush=True)
        for count in EXAMPLES:
            said = cost(directory, "--queue-class=scrapy.squeues.PickleFifoDiskQueue", f"--conformance-examples={count}")
            print(f"a disk queue, {count} examples: {said}", flush=True)
        for count in IMPLEMENTATIONS:
            print(f"a page on {count} implementations: {seconds_of_page(Path(directory), count):.2f} s", flush=True)


def cost(directory: str, *arguments: str) -> str:
    """Run the kit; return the seconds of processor time, and the memory at its highest."""
    before, highest = os.times(), 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            highest = max(highest, memory_below(process.pid))
            time.sleep(0.25)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return f"{used:.1f} s, {highest / 1024:.0f} MB"


def memory_below(pid: int) -> int:
    """Return how many kB a process and all below it take, what they share counted once."""
    below = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            below[int(entry.joinpath("stat").read_text().rpartition(") ")[2].split()[1])].append(int(entry.name))
        except OSError:  # it has ended
            continue
    found, left = 0, [pid]
    while left:
        one = left.pop()
        left += below[one]
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        found += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return found


def seconds_of_page(directory: Path, count: int) -> float:
    """Return how long the main thread of a browser works until it shows the report on so many implementations."""
    failed = [rule.id for rule in load().values() if DOWNSTREAM_QUEUE in rule.kinds][:10]
    page = directory / "report.html"
    page.write_text(html.render(report(*(implementation(f"a.Queue{number}", failed=failed) for number in range(count)))), "utf-8")
    options = webdriver.ChromeOptions()
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={directory / 'chromium'}"):
        options.add_argument(flag)
    with webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver"))) as driver:
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        before = _thread_time(driver)
        driver.get(page.as_uri())
        driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        return _thread_time(driver) - before


def _thread_time(driver: webdriver.Chrome) -> float:
    found = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(one["value"] for one in found if one["name"] == "ThreadTime")


if __name__ == "__main__":
    main()

"""Draws what a terminal shows of two runs, a failing and a passing one: `make pictures`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS = 80
RUNS = {
    "failing": ["--queue-class=scrapy.squeues.PickleLifoDiskQueue", "-k", "queue.peek"],
    "passing": ["--queue-class=scrapy.squeues.FifoMemoryQueue"],
}
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px monospace; white-space: pre }} {styles}</style>
<defs>{lines}<clipPath id="{unique_id}-clip-terminal">
<rect width="{terminal_width}" height="{terminal_height}"/></clipPath></defs>
{chrome}<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""
"""As rich has it, without fonts from elsewhere."""


def draw(name: str, arguments: list[str]) -> None:
    """Run the kit, and write what it printed to a file."""
    command = [str(Path(sys.executable).with_name("pytest")), "--color=yes", "-q", *arguments]
    environment = {**os.environ, "COLUMNS": str(COLUMNS)}
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(command, cwd=directory, env=environment, text=True, stdout=subprocess.PIPE, check=False)
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(Text.from_ansi(f"$ pytest -q {' '.join(arguments)}\n{done.stdout}"), soft_wrap=True)
    (HERE / "_static" / f"{name}.svg").write_text(console.export_svg(title="", code_format=FORMAT, unique_id=name))


if __name__ == "__main__":
    for name, arguments in RUNS.items():
        draw(name, arguments)

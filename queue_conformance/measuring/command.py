"""``queue-conformance measure``: what classes cost as they grow."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from queue_conformance.config.values import UsageError, argument, is_address, length_of, path, positive, server, settings_of

ENDINGS = (".jsonl", ".html")
"""What files of results end in: lines of JSON, or a page with drawings."""


def _output(text: str) -> Path:
    if Path(text).suffix not in ENDINGS:
        raise ValueError(f"write the name of a file that ends in {' or '.join(ENDINGS)}")
    return Path(text)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("classes", nargs="+", type=argument(path), metavar="CLASS", help="my_package.MyQueue")
    command.add_argument(
        "--against", action="append", type=argument(path), default=[], metavar="CLASS", help="another one, beside them; repeats"
    )
    command.add_argument(
        "--up-to", type=argument(positive), default=1_000_000, metavar="N", help="the largest size (default: 1000000)"
    )
    command.add_argument(
        "--time", type=argument(length_of), default=120.0, metavar="TIME", help="how long it may take: 90s, 30m (default: 2m)"
    )
    command.add_argument("--axis", action="append", default=[], metavar="WHAT", help="only this: stored, hosts, priorities, seen")
    command.add_argument("--queue-setting", action="append", default=[], metavar="NAME=VALUE", help="as for pytest; repeats")
    command.add_argument("--queue-server", type=argument(server), metavar="SERVER", help="one that the kit starts, such as redis")
    command.add_argument(
        "-o",
        "--output",
        type=argument(_output),
        action="append",
        default=[],
        metavar="FILE",
        help=".jsonl or .html; repeats",
    )


def run(asked: argparse.Namespace) -> int:
    """Measure, print a table and what it shows, and write the files; what there is when it is interrupted is kept.

    Raises:
        UsageError: if a class cannot be measured; the message is one line.
    """
    from queue_conformance.config.targets import Target
    from queue_conformance.frontends.guarded import guarded
    from queue_conformance.measuring import sizes, terminal
    from queue_conformance.reports.files import write_text

    if asked.queue_server and is_address(asked.queue_server):
        why = "what it holds would be measured, too; name a server that the kit starts"
        raise UsageError(f"--queue-server={asked.queue_server}: {why}")
    steps: list[sizes.Measured] = []
    notes: list[str] = []
    shown = sys.stderr.isatty()
    status = 0
    settings = settings_of(asked.queue_setting, "--queue-setting")
    paths = dict.fromkeys([*asked.classes, *asked.against])
    targets = [Target(one, "", one, settings, server=asked.queue_server or "") for one in paths]
    try:
        with guarded() as config:
            subjects = sizes.prepare(targets, config)
            known = {axis for one in subjects for axis in one.axes}
            if unknown := [axis for axis in asked.axis if axis not in known]:
                raise UsageError(f"--axis={unknown[0]}: there is {', '.join(sorted(known))}")
            for found in sizes.measure(subjects, config, up_to=asked.up_to, seconds=asked.time, axes=asked.axis):
                if isinstance(found, str):
                    notes.append(found)
                    continue
                steps.append(found)
                if shown:
                    line = f"{found.name.rpartition('.')[2]}: {found.size:,} {found.axis}"
                    print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        notes.append("the rest: it was interrupted")
        status = 130
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr)
    for line in terminal.render(steps, shutil.get_terminal_size((80, 24)).columns):
        print(line)
    for note in notes:
        print(f"not measured: {note}")
    for file in asked.output:
        try:
            write_text(_text(file, steps, notes), file)
        except OSError as error:
            raise UsageError(f"cannot write {file}: {error.strerror}") from error
    return status


def _text(file: Path, steps: Sequence[object], notes: Sequence[str]) -> str:
    from queue_conformance.measuring import page
    from queue_conformance.measuring.findings import as_data

    if file.suffix == ".html":
        return page.render(steps, notes)  # type: ignore[arg-type]
    return "".join(f"{json.dumps(as_data(one))}\n" for one in steps)  # type: ignore[arg-type]

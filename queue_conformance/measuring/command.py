"""``queue-conformance measure``: what classes cost as they grow."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from queue_conformance.config.options import MEASURE_OPTION, OPTIONS, add_describing
from queue_conformance.config.values import UsageError, argument, claims_of, expect_place, path, server, settings_of

NOTHING = 2
"""The exit status where nothing could be measured."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the command: of those that pytest has, too, by shorter names."""
    command.add_argument("classes", nargs="+", type=argument(path), metavar="CLASS", help="my_package.MyQueue")
    for option in OPTIONS:
        name = option.name.removeprefix(f"{MEASURE_OPTION}-")
        if name == option.name:
            continue
        names = ["-o", f"--{name}"] if name == "output" else [f"--{name}"]
        how = {"action": "append", "default": []} if option.repeats else {"default": option.default}
        text = f"{option.help}; repeats" if option.repeats else option.help
        command.add_argument(*names, type=argument(option.convert), metavar=option.metavar, help=text, **how)
    add_describing(command)
    command.add_argument("--queue-server", type=argument(server), metavar="SERVER", help="one that the kit starts, such as redis")


def run(asked: argparse.Namespace) -> int:
    """Measure, print a table and what it shows, and write the files; what there is when it is interrupted is kept.

    Raises:
        UsageError: if a class cannot be measured; the message is one line.
    """
    from queue_conformance.config.targets import Target
    from queue_conformance.frontends.guarded import guarded
    from queue_conformance.measuring import files, sizes, terminal

    for file in asked.output:
        expect_place("--output", file, Path(file))
    steps: list[sizes.Measured] = []
    notes: list[str] = []
    shown = sys.stderr.isatty()
    status = 0
    settings = settings_of(asked.queue_setting, "--queue-setting")
    paths = dict.fromkeys([*asked.classes, *asked.against])
    claims = claims_of(asked.conformance_claim, "--conformance-claim")
    targets = [Target(one, "", one, settings, claims, server=asked.queue_server or "") for one in paths]
    try:
        with guarded() as config:
            subjects = [sizes.prepare(target, config) for target in targets]
            for found in sizes.measure(subjects, up_to=asked.up_to, seconds=asked.time, axes=asked.axis):
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
    for line in terminal.render(steps, shutil.get_terminal_size().columns):
        print(line)
    for note in notes:
        print(f"not measured: {note}")
    for file in asked.output:
        try:
            files.write(steps, notes, Path(file))
        except OSError as error:
            raise UsageError(f"cannot write {file}: {error.strerror}") from error
    return status or (0 if steps else NOTHING)

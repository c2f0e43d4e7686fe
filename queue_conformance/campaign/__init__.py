"""Campaigns: other seeds and more sequences, on as many processes and machines as there are, until the time is over.

dask.distributed schedules the tasks, tries them again, and carries what comes of them. The client keeps that in a directory, so
that a campaign can be stopped and resumed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


class CampaignError(Exception):
    """A campaign cannot go on; the message is one line."""


def add_options(command: argparse.ArgumentParser, seconds: Callable[[str], float]) -> None:
    """Add the options of the command that runs one.

    Args:
        command: what gets them.
        seconds: reads a length of time.
    """
    length = command.add_mutually_exclusive_group(required=True)
    length.add_argument("--hours", type=seconds, help="how long it takes")
    length.add_argument("--minutes", type=seconds, help="the same, in minutes")
    command.add_argument("--only", action="append", default=[], metavar="NAME", help="only the one of this name; repeats")
    command.add_argument("--workers", type=_positive, metavar="N", help="processes (default: one for each processor)")
    command.add_argument("--cluster", default="", metavar="tcp://HOST:PORT", help="a scheduler of dask.distributed that runs")
    command.add_argument(
        "--directory",
        type=Path,
        default=Path("queue-conformance-campaign"),
        metavar="DIR",
        help="where what is known is kept (default: queue-conformance-campaign)",
    )
    command.add_argument("--update-baseline", action="store_true", help="add what is found to the baseline")


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"write a whole number, 1 or more, not {text!r}")
    return int(text)

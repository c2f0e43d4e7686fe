"""Campaigns: other seeds and more sequences, on as many processes and machines as there are, until the time is over.

dask.distributed schedules the tasks, retries them, and carries their results. The client keeps these in a directory, so
that a campaign can be stopped and resumed.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from queue_conformance.config.options import CRAWL_OPTION, MEASURE_OPTION, OF_A_CAMPAIGN, OPTIONS, TABLE
from queue_conformance.config.values import UsageError, amount_of, argument, converted

if TYPE_CHECKING:
    import pytest


class CampaignError(Exception):
    """A campaign cannot go on; the message is one line."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the command that runs one: of those that pytest has, too, by shorter names."""
    length = command.add_mutually_exclusive_group(required=True)
    length.add_argument("--hours", type=argument(partial(amount_of, "hours")), help="how long it takes")
    length.add_argument("--minutes", type=argument(partial(amount_of, "minutes")), help="the same, in minutes")
    command.add_argument("--only", action="append", default=[], metavar="NAME", help="only the one of this name; repeats")
    for option in OPTIONS:
        if option.name in OF_A_CAMPAIGN[1:]:
            name = f"--{option.name.removeprefix('conformance-campaign-')}"
            read = argument(option.convert)
            command.add_argument(name, type=read, default=option.default, metavar=option.metavar, help=option.help)
    command.add_argument("--update-baseline", action="store_true", help="add what is found to the baseline")
    command.add_argument("CLASS", nargs="*", type=_no_class, help=argparse.SUPPRESS)
    for option in OPTIONS:
        instead = partial(_no_option, option.name)
        command.add_argument(f"--{option.name}", nargs="?", const="", type=instead, help=argparse.SUPPRESS)


def _no_class(name: str) -> NoReturn:
    """Say what to do about a class that somebody names."""
    where = f"a campaign reads pyproject.toml alone: name {name} below [{TABLE}] there, as queue-class or the like"
    raise argparse.ArgumentTypeError(where)


def _no_option(name: str, value: str) -> NoReturn:
    """Say what to do about an option of pytest."""
    if name == OF_A_CAMPAIGN[0]:
        instead = "write --hours or --minutes here"
    elif name in (*OF_A_CAMPAIGN, "conformance-only", "conformance-update-baseline"):
        instead = f"write --{name.removeprefix('conformance-').removeprefix('campaign-')} here"
    else:
        instead = _where_instead(name, value or True)
    raise argparse.ArgumentTypeError(instead)


def run_for_pytest(config: pytest.Config) -> int:
    """Run the campaign that pytest's command line asks for, and return pytest's exit status.

    Raises:
        pytest.UsageError: if an option is wrong, or the campaign cannot go on.
    """
    import pytest

    understood = ("conformance", "conformance-only", "conformance-update-baseline", *OF_A_CAMPAIGN)
    try:
        given = {option.name: config.getoption(f"--{option.name}") for option in OPTIONS}
        for name, value in given.items():
            if value and name not in understood:
                raise UsageError(f"--{name}: {_where_instead(name, value)}")
        if config.args_source is config.ArgsSource.ARGS:
            raise UsageError(f"--conformance-campaign runs no tests: leave out {config.args[0]}")
        values = {option.name: converted(option, given[option.name], f"--{option.name}") for option in OPTIONS}
        length, workers, cluster, directory = (values[name] for name in OF_A_CAMPAIGN)
        if length is None:
            raise UsageError("--conformance-campaign: say for how long, such as 30m")
        status = run(
            seconds=length,
            directory=Path(directory),
            names=tuple(values["conformance-only"]),
            workers=workers,
            cluster=cluster,
            update_baseline=values["conformance-update-baseline"],
        )
    except (UsageError, CampaignError) as error:
        raise pytest.UsageError(str(error)) from error
    except KeyboardInterrupt:  # which has been told
        return pytest.ExitCode.INTERRUPTED
    return pytest.ExitCode.USAGE_ERROR if status == 2 else status


def _where_instead(name: str, value: Any) -> str:
    """Return what to do about an option that no campaign takes."""
    if name.startswith((CRAWL_OPTION, MEASURE_OPTION)):
        return "no campaign does that: leave it out"
    return f"a campaign reads pyproject.toml alone: write {name} = {json.dumps(value)} below [{TABLE}] there"


def run(**how: Any) -> int:
    """Run a campaign; see :func:`queue_conformance.campaign.running.run`.

    Raises:
        CampaignError: if it cannot begin, or go on.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise CampaignError("it needs dask.distributed: pip install 'pytest-queue-conformance[campaign]'") from None
    from queue_conformance.baseline import BaselineError
    from queue_conformance.campaign import running

    try:
        return running.run(**how)
    except (BaselineError, UsageError) as error:
        raise CampaignError(str(error)) from error

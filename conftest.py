"""What the project's own test run needs."""

import os

pytest_plugins = ["pytester"]

os.environ.pop("GITHUB_STEP_SUMMARY", None)  # the runs that tests make are no results of this project's own run


def pytest_addoption(parser):
    """Declare what the project's own tests are asked besides."""
    parser.addoption("--everything", action="store_true", help="run the tests that take long, and every check on every exhibit")
    parser.addoption("--seeds", type=int, default=2, help="from how many seeds programs for shipped queues are drawn")


def pytest_collection_modifyitems(items):
    """Let whole crawls come first: in a process in which another test has imported a reactor each one takes a new interpreter."""
    items.sort(key=lambda item: "jobs" not in item.nodeid)

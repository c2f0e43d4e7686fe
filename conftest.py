"""What the project's own test run needs."""

import os

pytest_plugins = ["pytester"]

os.environ.pop("GITHUB_STEP_SUMMARY", None)  # the runs that tests make are no results of this project's own run

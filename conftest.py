"""What the project's own test run needs."""

pytest_plugins = ["pytester"]

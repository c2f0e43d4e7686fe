"""What checks call besides the subject; scripts quote it. It has no annotations, because scripts have none."""

import os
from pathlib import Path


def names_below(directory):
    """Return the paths of the files below a directory, relative to it."""
    return sorted(os.path.relpath(path, directory) for path in Path(directory).rglob("*") if path.is_file())


def bytes_below(directory):
    """Return how many bytes the files below a directory have."""
    return sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())

"""Runs ``test_compat.py`` with releases of the libraries, each in an environment of its own: ``python compat.py [LIBRARY...]``.

Of each library that is the lowest release that pyproject.toml promises, the last one of some series above it, and the newest
one, pre-releases included.
"""

import json
import subprocess
import sys
from pathlib import Path

from lowest import OF_THEIR_TIME, lowest
from packaging.version import Version

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "compat"
LIBRARIES = ("scrapy", "pytest", "hypothesis")
SERIES = 10
"""Of a library with more of them, this many are tried, evenly spread."""


def releases(library, first):
    """Return the last release of each series from the first one on, and the newest of all."""
    command = [sys.executable, "-m", "pip", "index", "versions", "--pre", "--json", library]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["versions"]
    versions = sorted(version for version in map(Version, found) if version >= first)
    last = {version.release[:2]: version for version in versions if not version.is_prerelease}
    series = [*last.values()]
    chosen = series[:: -(-len(series) // SERIES)]
    return [str(version) for version in sorted({first, *chosen, series[-1], versions[-1]})]


def main(names):
    """Try each release of some libraries, and end with how many failed."""
    failed = []
    promised = {name: Version(release) for name, _, release in (one.partition("==") for one in lowest() if "==" in one)}
    for library in names or LIBRARIES:
        for release in releases(library, promised[library]):
            environment = BUILD / f"{library}-{release}"
            python = environment / "bin" / "python"
            old = OF_THEIR_TIME if library == "scrapy" and Version(release) < Version("2.16") else ()
            install = [python, "-m", "pip", "install", "--quiet", "--pre", f"{library}=={release}", *old, "--editable", ROOT]
            options = ["-q", "-c", "/dev/null", f"--rootdir={ROOT}", "--noconftest", "-p", "no:cacheprovider", "--tb=line"]
            made = python.exists() or subprocess.run([sys.executable, "-m", "venv", environment]).returncode == 0
            works = made and subprocess.run(install).returncode == 0
            print(f"== {library} {release}", flush=True)
            if not works or subprocess.run([python, "-m", "pytest", *options, ROOT / "tests" / "test_compat.py"]).returncode:
                failed.append(f"{library} {release}")
    sys.exit(f"fails with {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])

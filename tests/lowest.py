"""Prints the lowest versions that pyproject.toml promises, of all or of what is named, as requirements for pip.

``make lowest`` installs and tries them all, and ``make test`` runs a class with the lowest pytest.
"""

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

OF_THEIR_TIME = ("twisted<25",)
"""What these releases need of others: Scrapy 2.13 cannot download with Twisted 26."""


def lowest():
    """Yield a requirement for each direct dependency, of the kit and of what is optional."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [project["name"] + "[", *project["optional-dependencies"]]
    for text in [*project["dependencies"], *(one for some in project["optional-dependencies"].values() for one in some)]:
        requirement = Requirement(text)
        if text.startswith(extras[0]) or (requirement.marker and not requirement.marker.evaluate()):
            continue
        (promised,) = requirement.specifier
        extra = f"[{','.join(requirement.extras)}]" if requirement.extras else ""
        yield f"{requirement.name}{extra}=={promised.version}"
    yield from OF_THEIR_TIME


if __name__ == "__main__":
    print(*(one for one in lowest() if not sys.argv[1:] or Requirement(one).name in sys.argv[1:]))

"""Which releases of Scrapy work with which ones of Twisted, as ``make releases`` has measured."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from importlib.resources import files

from packaging.version import Version


@cache
def measured() -> Mapping[str, Mapping[str, bool]]:
    """Return by the release of Scrapy, the oldest first, whether an engine can be made with each release of Twisted."""
    text = files("queue_conformance.specification").joinpath("twisted.json").read_text("utf-8")
    found: Mapping[str, Mapping[str, bool]] = json.loads(text)
    return found


def mismatch() -> str:
    """Return which release to install instead of one that does not work with another one, as one line, or ``""``."""
    scrapy, twisted = (Version(metadata.version(name)) for name in ("scrapy", "twisted"))
    if _works(scrapy, twisted):
        return ""
    newest = next((one for one in reversed(_row(scrapy)) if _row(scrapy)[one]), "")
    first = next((one for one in measured() if Version(one) > scrapy and _works(Version(one), twisted)), "")
    instead = [f"Twisted {newest}" if newest else "", f"Scrapy {first} or later" if first else ""]
    return f"Scrapy {scrapy} does not work with Twisted {twisted}: install {' or '.join(filter(None, instead))}"


def mismatch_behind(said: str) -> str:
    """Return :func:`mismatch` where what an import raised speaks of Twisted, or ``""``."""
    return mismatch() if re.search(r"\btwisted\b", said) else ""


def _works(scrapy: Version, twisted: Version) -> bool:
    """Whether two releases work together, as the last ones at or before them did; what was not measured counts as working."""
    row = _row(scrapy)
    earlier = [one for one in row if Version(one) <= twisted]
    return row[earlier[-1]] if earlier else True


def _row(scrapy: Version) -> dict[str, bool]:
    """Return what was measured of the nearest release of Scrapy in the same series, the oldest Twisted first."""
    near = [one for one in measured() if Version(one).release[:2] == scrapy.release[:2]]
    earlier = [one for one in near if Version(one) <= scrapy] or near[:1]
    return dict(measured()[earlier[-1]]) if earlier else {}

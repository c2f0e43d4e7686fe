"""Projects whose crawls misread in silence what another release lists as seen."""

from __future__ import annotations

from functools import partial

from mutants import mutant, schedulers_filtering
from mutants.schedulers_filtering import RIGHT

crawled = partial(mutant, fails="dupefilter.format.unknown", control=RIGHT, claims={"kind": "crawl"}, settings={"JOBDIR": "job"})


@crawled()
class BeginsAnew(schedulers_filtering.ForgetsWhatOthersWrote):
    """It crawls a job that has finished once more, without a word, if the file of that is no database."""

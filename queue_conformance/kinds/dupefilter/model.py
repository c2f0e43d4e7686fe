"""The model of dupefilters: a set of fingerprints for each job directory."""

from __future__ import annotations

from collections.abc import Hashable


class DupeFilterModel:
    """What a filter may answer.

    Args:
        filters: whether it filters at all.
        exact: whether it never takes what is new for seen.

    Attributes:
        runs: the number of the run that is in progress, from 0.
    """

    def __init__(self, filters: bool = True, *, exact: bool = True) -> None:
        self._filters = filters
        self._exact = exact
        self._seen: dict[Hashable, int] = {}
        self._uncertain: set[Hashable] = set()
        self.runs = 0

    def allowed(self, fingerprint: Hashable) -> set[bool]:
        """Return the answers that are right."""
        if not self._filters:
            return {False}
        if fingerprint in self._uncertain or not (self._exact or fingerprint in self._seen):
            return {True, False}
        return {fingerprint in self._seen}

    def runs_since(self, fingerprint: Hashable) -> int:
        """Return how many runs ago a request was first seen; 0 is this run."""
        return self.runs - self._seen[fingerprint]

    def see(self, fingerprint: Hashable, answer: bool) -> None:
        """Note that a request was asked for, and what the answer was.

        After damage, and where a filter may take new requests for seen, a request that was called seen stays uncertain: it may
        never have been stored.
        """
        if answer and len(self.allowed(fingerprint)) > 1:
            return
        self._uncertain.discard(fingerprint)
        self._seen.setdefault(fingerprint, self.runs)

    def reopen(self) -> None:
        """Note that another run began after a clean close."""
        self.runs += 1

    def forget(self) -> None:
        """Note that everything that was seen may be forgotten: either answer is right."""
        self._uncertain |= self._seen.keys()
        self._seen.clear()
        self.runs += 1

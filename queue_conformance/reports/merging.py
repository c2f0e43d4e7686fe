"""Several reports as one, such as those of jobs that tested one implementation each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from queue_conformance.reports import Report


class MergeError(ValueError):
    """Reports do not belong together; the message is one line."""


def merge(reports: Sequence[Report]) -> Report:
    """Return one report with the implementations of all, made when the first of them was.

    Raises:
        MergeError: if they come of runs that differ, or an implementation is in two of them.
    """
    if len(reports) > 1 and any(report.interrupted for report in reports):
        raise MergeError("one of the reports is of a run that was interrupted, and so not whole: run that again")
    origin = min((report.origin for report in reports), key=lambda origin: origin.created)
    for field in fields(origin):
        values = {str(getattr(report.origin, field.name)): None for report in reports}
        if field.name != "created" and len(values) > 1:
            raise MergeError(f"the reports do not belong together: {field.name} is {' here and '.join(values)} there")
    names = [found.name for report in reports for found in report.implementations]
    for name in names:
        if names.count(name) > 1:
            raise MergeError(f"{name} is in two of the reports; matrix and compare show both")
    return replace(
        reports[0],
        implementations=tuple(found for report in reports for found in report.implementations),
        errors=tuple(dict.fromkeys(error for report in reports for error in report.errors)),
        origin=origin,
        internal_errors=tuple(dict.fromkeys(line for report in reports for line in report.internal_errors)),
        gate=tuple(dict.fromkeys(line for report in reports for line in report.gate)),
    )

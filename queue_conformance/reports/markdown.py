"""The report as Markdown: a comment on a pull request, or the summary of a step of GitHub Actions."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from queue_conformance.engine.verdicts import NOT_TESTED, RuleVerdict, Verdict
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.reports.losses import concluded
from queue_conformance.reports.reading import visible
from queue_conformance.reports.terminal import second, why
from queue_conformance.specification import Level

COMMENT = 65536
"""Characters of a comment on GitHub at most; bytes are counted here, of which there are as many or more."""

SUMMARY = 1 << 20
"""Bytes of the summary of a step on GitHub at most; a longer one is not shown at all."""

_LEFT_OUT = "left out to stay within the length that GitHub shows; a report of JSON lines (`--conformance-report=FILE.jsonl`) has"
_CUT = f"\n\nThe rest of this report is {_LEFT_OUT} it.\n"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the text.

    Attributes:
        texts: with less detail first.
        rank: of several pieces, that with the lowest rank gets its detail first.
    """

    texts: tuple[str, ...]
    rank: int = 0


def render(report: Report, limit: int = COMMENT) -> str:
    """Return the text of the file.

    Args:
        limit: bytes of the text at most. Where there is not room for all, the scripts of later rules are left out first.
    """
    return _fitted([_Piece((piece,)) if isinstance(piece, str) else piece for piece in _report(report)], limit)


def append(report: Report, path: Path) -> None:
    """Append a report to the summary of a step of GitHub Actions.

    Args:
        path: the file that ``GITHUB_STEP_SUMMARY`` names.

    Raises:
        OSError: if it cannot be written, or nothing more fits into it.
    """
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        text = render(report, SUMMARY - os.fstat(file.fileno()).st_size - 1)
        if not text:
            raise OSError(errno.EFBIG, f"it is full: GitHub shows {SUMMARY} bytes")
        file.write(f"\n{text}")


def _fitted(pieces: Sequence[_Piece], limit: int) -> str:
    """Return the pieces in their order, each with as much detail as there is room for."""
    chosen = [piece.texts[0] for piece in pieces]
    room = limit - sum(map(_size, chosen))
    for detail in range(1, max(len(piece.texts) for piece in pieces)):
        for index in sorted(range(len(pieces)), key=lambda index: pieces[index].rank):
            texts = pieces[index].texts
            if detail < len(texts) and (more := _size(texts[detail]) - _size(chosen[index])) <= room:
                chosen[index] = texts[detail]
                room -= more
    if room >= 0:
        return "".join(chosen)
    room -= _size(_CUT)
    while chosen and room < 0:
        room += _size(chosen.pop())
    return "".join([*chosen, _CUT]) if chosen else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))


# --- The parts -------------------------------------------------------------------------------------------------------


def _report(report: Report) -> Iterator[_Piece | str]:
    state = "passed"
    if report.failed or report.errors or report.internal_errors:
        state = "failed"
    elif report.inconclusive:
        state = "inconclusive"
    yield f"## Queue conformance: {state}\n"
    if report.implementations:
        yield "\n| implementation | verdict |\n|---|---|\n"
    for found in report.implementations:
        name = code(found.name).replace("|", r"\|")  # in a table, even code must not hold a bare one
        yield f"| {name} | **{prose(concluded(found))}** ({prose(why(found))}) |\n"
    yield from _lines("Could not be tested", report.errors)
    yield from _lines("Internal errors", report.internal_errors)
    yield from _lines("The baseline must be changed", report.gate)
    for found in report.implementations:
        yield from _implementation(found)
    origin = report.origin
    releases = [f"{name} {release}" for name, release in origin.releases.items()]
    about = [f"pytest-queue-conformance {origin.kit}", f"Python {origin.python}", *releases]
    yield f"\n<sub>{', '.join([*about, f'seed {origin.seed}', f'{origin.examples} examples', origin.created])}</sub>\n"


def _lines(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"\n### {title}\n\n"
        yield from (f"- {code(line)}\n" for line in lines)


def _implementation(found: ImplementationReport) -> Iterator[_Piece | str]:
    about = [code(found.path) if found.path != found.name else "", prose(found.version), found.kind.replace("-", " ")]
    yield f"\n### {code(found.name)}\n\n{', '.join(part for part in [*about, f'profile {found.profile}'] if part)}\n"
    if found.also:
        yield f"\nHeld to the profile {found.profile}; {prose(second(found.also))}.\n"
    yield _counts(found)
    failed_rules = [verdict for verdict in found.verdicts if verdict.verdict is Verdict.FAILED]
    groups = {
        "Failed, and failing this run": [verdict for verdict in failed_rules if found.gates(verdict)],
        "Failed, tolerated by this run": [verdict for verdict in failed_rules if not found.gates(verdict) and not verdict.known],
        "Failed, and known to": [verdict for verdict in failed_rules if verdict.known],
    }
    for rank, (title, verdicts) in enumerate(groups.items()):
        if verdicts:
            yield f"\n#### {title}\n"
            yield from (_failed(verdict, rank) for verdict in verdicts)
    unknown = [verdict for verdict in found.verdicts if verdict.verdict in NOT_TESTED]
    if unknown:
        title = f"{len(unknown)} {'rule was' if len(unknown) == 1 else 'rules were'} not tested"
        lines = [f"- `{v.rule.id}` {v.rule.level}: {v.verdict}, {prose(v.reason)}\n" for v in unknown]
        yield _Piece((f"\n{title}.\n", f"\n<details><summary>{title}</summary>\n\n{''.join(lines)}\n</details>\n"), len(groups))


def _counts(found: ImplementationReport) -> str:
    counts = found.counts()
    shown = [verdict for verdict in Verdict if any(counts[level][verdict] for level in Level)]
    rows = ["".join(f"| {cell} " for cell in ["", *shown]) + "|", "|---" + "|--:" * len(shown) + "|"]
    for level in Level:
        known = sum(bool(verdict.known) for verdict in found.failed_rules(level))
        cells = [str(counts[level][verdict] or "") for verdict in shown]
        if known:
            cells[shown.index(Verdict.FAILED)] += f" ({known} known)"
        rows.append("".join(f"| {cell} " for cell in [level, *cells]) + "|")
    return "\n" + "".join(f"{row}\n" for row in rows)


def _failed(verdict: RuleVerdict, rank: int) -> _Piece:
    rule = verdict.rule
    title = f"\n**`{rule.id}`** ({rule.level}{f', provisional: new in {rule.provisional}' if rule.provisional else ''})"
    said = f"{title}: {rule.sentence}\n\n"
    if verdict.known:
        said += f"- known: {prose(verdict.known)}\n"
    if verdict.violation is None:
        return _Piece((f"{title}\n", said), rank)
    said += f"- expected: {code(verdict.violation.expected)}\n- actual: {code(verdict.violation.actual)}\n"
    said += "".join(f"- also: {code(other.actual)}\n" for other in verdict.violation.others)
    said += "".join(f"- hint: {hint}\n" for hint in rule.hints)
    return _Piece(
        (
            f"{title}\n",
            f"{said}\nIts script is {_LEFT_OUT} it.\n",
            f"{said}\n<details><summary>a script that shows it</summary>\n\n{block(verdict.violation.script)}\n</details>\n",
        ),
        rank,
    )


# --- Texts that are no Markdown --------------------------------------------------------------------------------------


def code(text: str) -> str:
    """Return a text as one line of code, in which nothing has a meaning; not even the name of a user behind an ``@``."""
    text = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in " ".join(text.split()))
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if "`" in (text[:1], text[-1:]) else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else "(nothing)"


def block(text: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}python\n{visible(text.rstrip())}\n{fence}\n"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def prose(text: str) -> str:
    """Return a text as one line in which no character has a meaning for Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", " ".join(text.split()))

"""The records of a report as types, which a reader checks them by; ``schema.json`` beside this module says the same to others."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, convert

from queue_conformance.engine.outcomes import Outcome
from queue_conformance.specification import Level
from queue_conformance.verdicts import RunVerdict, Verdict

SCHEMA = 1
"""The version of the records; another one means that a program which reads them must be changed."""

_Count = Annotated[int, Meta(ge=0)]
_RuleId = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9]*(\.[a-z]+(-[a-z]+)*){1,2}\Z")]
_Minor = Annotated[str, Meta(pattern=r"\A[0-9]+\.[0-9]+\Z")]
_Counts = dict[Level, dict[Verdict, _Count]]
_Program = tuple[tuple[Any, ...], ...]


class _Record(Struct, tag_field="type", forbid_unknown_fields=True, kw_only=True):
    pass


class Header(_Record, tag="header"):
    """The first record: where the report comes from."""

    schema: Literal[1]
    kit: str
    python: str
    platform: str
    releases: dict[str, str]
    created: str
    seed: _Count
    examples: Annotated[int, Meta(ge=1)]


class Implementation(_Record, tag="implementation"):
    """One implementation; the records of its checks and rules follow."""

    implementation: str
    path: str
    version: str
    kind: str
    profile: str
    level: Literal["MUST", "SHOULD"]
    settings: dict[str, Any]
    claims: dict[str, str]
    server: str
    found: str
    offers: list[str]
    stores: dict[str, str]
    notes: list[str]
    counts: _Counts
    verdict: RunVerdict


class Check(_Record, tag="check"):
    """What came of one check."""

    implementation: str
    check: str
    outcomes: dict[_RuleId, Outcome]
    seconds: Annotated[float, Meta(ge=0)]
    fatal: bool = False


class Evidence(Struct, forbid_unknown_fields=True, kw_only=True):
    """What broke a rule, from another cause."""

    expected: str
    actual: str
    operations: tuple[str, ...]
    script: str
    cause: str
    program: _Program | UnsetType = UNSET
    stacks: str = ""


class Rule(_Record, tag="rule"):
    """The verdict on one rule."""

    implementation: str
    rule: _RuleId
    level: Level
    verdict: Verdict
    sentence: str
    source: str
    hints: tuple[str, ...] = ()
    provisional: _Minor | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    known: str | UnsetType = UNSET
    expected: str | UnsetType = UNSET
    actual: str | UnsetType = UNSET
    operations: tuple[str, ...] | UnsetType = UNSET
    script: str | UnsetType = UNSET
    cause: str | UnsetType = UNSET
    program: _Program | UnsetType = UNSET
    stacks: str | UnsetType = UNSET
    others: tuple[Evidence, ...] | UnsetType = UNSET

    def __post_init__(self) -> None:
        needed: tuple[str, ...] = ("expected", "actual", "operations", "script", "cause")
        allowed: tuple[str, ...] = (*needed, "program", "stacks", "others", "known")
        if self.verdict is not Verdict.BROKEN:
            needed, allowed = () if self.verdict is Verdict.KEPT else ("reason",), ("reason",)[self.verdict is Verdict.KEPT :]
        for name in ("reason", "known", "expected", "actual", "operations", "script", "cause", "program", "stacks", "others"):
            if (given := getattr(self, name) is not UNSET) and name not in allowed:
                raise ValueError(f"a rule that is {self.verdict} has no field `{name}`")
            if not given and name in needed:
                raise ValueError(f"a rule that is {self.verdict} lacks the field `{name}`")


class Also(_Record, tag="also"):
    """The same implementation, measured by a second contract."""

    implementation: str
    profile: str
    counts: _Counts
    verdict: RunVerdict
    rules: list[Rule]


class Error(_Record, tag="error"):
    """An implementation that could not be examined."""

    message: str


class Gate(_Record, tag="gate"):
    """An entry of the baseline that fails the run."""

    message: str


class Mistake(_Record, tag="mistake"):
    """A failure of the kit itself."""

    message: str


class Footer(_Record, tag="footer"):
    """The last record."""

    implementations: _Count
    errors: _Count
    failed: bool


Record = Header | Implementation | Check | Rule | Also | Error | Gate | Mistake | Footer


def checked(found: object) -> Record:
    """Return a record that was read as JSON.

    Raises:
        ValueError: if it is not as the schema has it; the message says what and where.
    """
    return convert(found, Record)  # type: ignore[no-any-return]

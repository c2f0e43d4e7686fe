"""The records of a report as types: a reader checks records by them, and their JSON schema is made from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, convert

from queue_conformance.engine.outcomes import Outcome
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.specification import Level

SCHEMA = 1
"""The version of the records; another one means that a program which reads them must be changed."""


def _about(text: str, **more: Any) -> Meta:
    """Return the description of a field, for its schema."""
    return Meta(description=text, extra_json_schema=more or None)


_Count = Annotated[int, Meta(ge=0)]
_ID = r"^[a-z][a-z0-9]*(\.[a-z]+(-[a-z]+)*){1,2}$"
_RuleId = Annotated[str, Meta(pattern=_ID, description="The stable id of a rule, such as queue.pop.fifo.")]
_Name = Annotated[str, Meta(pattern=r"^[a-z]+(-[a-z]+)*$")]
_Minor = Annotated[str, Meta(pattern=r"^[0-9]+\.[0-9]+$")]
_Short = Annotated[str, Meta(max_length=200)]
_Counts = Annotated[
    dict[Level, Annotated[dict[Verdict, _Count], Meta(extra_json_schema={"propertyNames": {"$ref": "#/$defs/Verdict"}})]],
    _about("The number of rules, by level and verdict.", propertyNames={"$ref": "#/$defs/Level"}),
]
_Known = Annotated[
    RunVerdict,
    _about(
        "CONFORMANT: no MUST rule failed and all that apply were tested; PARTIAL: not all were; NON-CONFORMANT: one "
        "failed; INCONCLUSIVE: none passed, or the kit or something around the class failed, so nothing is proven."
    ),
]
_Implementation = Annotated[
    str,
    _about(
        "The name of the implementation: of its table in pyproject.toml, or else the dotted path of its class. "
        "The records of one implementation share it."
    ),
]
_Expected = Annotated[str, _about("Of a failed rule: what it asks for, short.")]
_Actual = Annotated[str, _about("Of a failed rule: what happened instead, short.")]
_Operations = Annotated[tuple[str, ...], _about("Of a failed rule: what was done, one line of Python each.")]
_Script = Annotated[
    str,
    _about("Of a failed rule: a stand-alone program that shows it. Its exit status is not zero as long as the rule failed."),
]
_Cause = Annotated[
    str,
    _about("Of a failed rule: the operation that failed, and how. Violations of a rule that differ in this are told apart."),
]
_Way = Annotated[
    str,
    _about(
        "Of a failed rule: what it takes, the check and its case or what the shortest command sequence consists of. Violations "
        "of a rule and cause that differ in this are told apart."
    ),
]
_Sequence = Annotated[
    tuple[tuple[Any, ...], ...],
    _about("Of a rule that a machine saw fail: the operations, as names and arguments, which can be run again."),
]
_Stacks = Annotated[str, _about("Of a rule that failed by a hang or a crash: where all threads were.")]
_Base = Annotated[
    str,
    _about(
        "Of a failed MUST rule: the class of Scrapy, queuelib or qCrawl from which it derives, and which fails in the same way."
    ),
]
_RaisedAt = Annotated[
    str,
    _about(
        "Of a rule that failed by an exception: its class, and the lines where it was raised. What one line raises has one "
        "cause, which says what to mend first."
    ),
]


class _Record(Struct, tag_field="type", forbid_unknown_fields=True, kw_only=True):
    pass


class Header(_Record, tag="header"):
    """The first record: where the report comes from."""

    schema: Annotated[
        Literal[1], _about("The version of this schema. A program that reads reports refuses a version that it does not know.")
    ]
    kit: Annotated[_Short, _about("The release of pytest-queue-conformance.")]
    python: Annotated[_Short, _about("The release of Python.")]
    platform: Annotated[_Short, _about("The platform, as sys.platform names it.")]
    releases: Annotated[dict[_Short, _Short], _about("The installed releases of the libraries that rules may name.")]
    created: Annotated[_Short, _about("When the run began, in UTC.", format="date-time")]
    seed: Annotated[_Count, _about("What seeded everything that was drawn.")]
    examples: Annotated[int, Meta(ge=1, description="Command sequences and requests that were drawn for each check that draws.")]


class Implementation(_Record, tag="implementation"):
    """One implementation that was tested; the records of its checks and rules follow."""

    implementation: _Implementation
    path: Annotated[str, _about("The dotted path of its class.")]
    version: Annotated[str, _about("Its package and the release of that, or nothing if it is not installed.")]
    kind: Annotated[_Name, _about("What it is, which decides how it is built and driven.")]
    profile: Annotated[_Name, _about("The contract that it was held to.")]
    level: Annotated[
        Literal["MUST", "SHOULD"], _about("The level whose failed rules fail the run; those of MUST rules always do.")
    ]
    settings: Annotated[dict[str, Any], _about("What it was built with, by name; secrets are replaced by ***.")]
    claims: Annotated[dict[str, str], _about("What its author claims, by name.")]
    server: Annotated[str, _about("The server that it stores in, or nothing.")]
    found: Annotated[str, _about("What was found by probing, in one line; nothing if it could not be used.")]
    offers: Annotated[list[str], _about("The capabilities that were found by probing, by the names that rules use.")]
    stores: Annotated[
        dict[str, str],
        _about("For each type of value, what becomes of it in a queue that serializes: kept, refused, changed or lost."),
    ]
    notes: Annotated[tuple[str, ...], _about("What else is worth knowing, one line each.")]
    counts: _Counts
    verdict: _Known


class Check(_Record, tag="check"):
    """What came of one check; a check tests one rule or several."""

    implementation: _Implementation
    check: Annotated[str, _about("Its name: the id of its first rule, or a word such as machine.")]
    outcomes: Annotated[dict[_RuleId, Outcome], _about("What it says of rules, by id.", propertyNames={"pattern": _ID})]
    seconds: Annotated[float, Meta(ge=0, description="How long it took.")]
    fatal: Annotated[bool, _about("Whether it hung or died; absent if it did not.", const=True)] | UnsetType = UNSET


class Evidence(Struct, forbid_unknown_fields=True, kw_only=True):
    """Another violation of the same rule, which has another cause."""

    expected: _Expected
    actual: _Actual
    operations: _Operations
    script: _Script
    cause: _Cause
    way: _Way | UnsetType = UNSET
    sequence: _Sequence | UnsetType = UNSET
    stacks: _Stacks | UnsetType = UNSET
    raised_at: _RaisedAt | UnsetType = UNSET
    base: _Base | UnsetType = UNSET


class Rule(_Record, tag="rule"):
    """The verdict on one rule. Every rule of the profile that is asked of the kind has one, in the order of the specification."""

    implementation: _Implementation
    rule: _RuleId
    level: Annotated[Level, _about("How binding the rule is (RFC 2119).")]
    verdict: Annotated[Verdict, _about("What is known of it.")]
    sentence: Annotated[str, _about("The rule itself, one sentence of Markdown.")]
    source: Annotated[str, _about("Where it comes from.")]
    hints: Annotated[tuple[str, ...], _about("Where to look when it fails.")] | UnsetType = UNSET
    reason: Annotated[str, _about("Why, unless it passed or failed.")] | UnsetType = UNSET
    provisional: (
        Annotated[
            _Minor,
            _about("The minor release of the kit in which the rule is new: it takes part in no verdict and no count yet."),
        ]
        | UnsetType
    ) = UNSET
    known: (
        Annotated[str, _about("Why the author's baseline expects that it fails; such a rule does not fail the run.")] | UnsetType
    ) = UNSET
    expected: _Expected | UnsetType = UNSET
    actual: _Actual | UnsetType = UNSET
    operations: _Operations | UnsetType = UNSET
    script: _Script | UnsetType = UNSET
    cause: _Cause | UnsetType = UNSET
    way: _Way | UnsetType = UNSET
    sequence: _Sequence | UnsetType = UNSET
    stacks: _Stacks | UnsetType = UNSET
    raised_at: _RaisedAt | UnsetType = UNSET
    base: _Base | UnsetType = UNSET
    others: Annotated[tuple[Evidence, ...], _about("Of a failed rule: what broke it from other causes.")] | UnsetType = UNSET

    def __post_init__(self) -> None:
        needed, allowed = fields_of(self.verdict)
        for name in SOMETIMES:
            if (given := getattr(self, name) is not UNSET) and name not in allowed:
                raise ValueError(f"a rule whose verdict is {self.verdict} has no field `{name}`")
            if not given and name in needed:
                raise ValueError(f"a rule whose verdict is {self.verdict} lacks the field `{name}`")


_EVIDENCE = ("expected", "actual", "operations", "script", "cause")
SOMETIMES = ("reason", "known", *_EVIDENCE, "way", "sequence", "stacks", "raised_at", "base", "others")
"""The fields of a rule that depend on its verdict."""


def fields_of(verdict: Verdict) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of these fields a verdict needs, and which it may have."""
    if verdict is Verdict.FAILED:
        return _EVIDENCE, SOMETIMES[1:]
    reason = () if verdict is Verdict.PASSED else ("reason",)
    return reason, reason


class Also(_Record, tag="also"):
    """The same implementation by a second contract, which fails no run; where it has one, after the records of its rules."""

    implementation: _Implementation
    profile: Annotated[_Name, _about("The second contract.")]
    counts: _Counts
    verdict: _Known
    rules: Annotated[list[Rule], _about("The records of all rules of the second contract.")]


class Error(_Record, tag="error"):
    """An implementation that could not be tested."""

    message: Annotated[str, _about("Why, in one line.")]


class Gate(_Record, tag="gate"):
    """An entry of the baseline that fails the run."""

    message: Annotated[str, _about("What to do, in one line.")]


class InternalError(_Record, tag="internal_error"):
    """The kit itself failed: what is known of the class is INCONCLUSIVE at best, and the exit status of the run is 3."""

    message: Annotated[str, _about("One line: what failed, and where.")]


class Footer(_Record, tag="footer"):
    """The last record. A file without it is incomplete, and must be refused."""

    implementations: Annotated[_Count, _about("The number of implementation records.")]
    errors: Annotated[_Count, _about("The number of error records, and of internal errors.")]
    failed: Annotated[
        bool, _about("Whether some implementation fails a rule that fails the run, or the baseline must be changed.")
    ]
    interrupted: (
        Annotated[bool, _about("Whether the run was ended before it had tested all; absent if it was not.", const=True)]
        | UnsetType
    ) = UNSET


Record = Header | Implementation | Check | Rule | Also | Error | Gate | InternalError | Footer


def checked(found: object) -> Record:
    """Return a record that was read as JSON.

    Raises:
        ValueError: if it is not as the schema has it; the message says what and where.
    """
    return convert(found, Record)  # type: ignore[no-any-return]

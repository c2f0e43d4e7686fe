"""Context managers of checks that say what lines are about, and what an operation may, or must, raise."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn, Self

from queue_conformance.engine.case import Case
from queue_conformance.engine.difference import UNRAISED
from queue_conformance.engine.record import Failed
from queue_conformance.engine.recording import OperationRaised, came_from, describe
from queue_conformance.engine.refusals import ACCIDENTS, is_accident
from queue_conformance.engine.scripts import must_raise, or_exit
from queue_conformance.engine.writing import INDENT, Block


class UnderTest(Block):
    """``with under_test():``: what fails inside, also by raising, fails the rule of the check.

    Args:
        rule: the rule that fails instead.
        expected: what was expected of an operation that raises.
    """

    def __init__(self, rule: str = "", expected: str = "") -> None:
        self._rule = rule
        self._expected = expected

    def bind(self, case: Case) -> None:
        super().bind(case)
        self._rule = self._rule or case.own
        self._attributed = case.context.recorder.attribute(self._rule)

    def __enter__(self) -> None:
        self._attributed.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool | None:
        self._attributed.__exit__(kind, error, trace)
        if error is not None and self._case.raised[0] is not error:
            self._case.raised = error, self._rule
        if isinstance(error, Failed):
            error.rule = error.rule or self._rule
        if isinstance(error, OperationRaised):
            error.expected = error.expected or self._expected
        return None


class Subtest(UnderTest):
    """``with subtest(rule):``: assertions about another rule, and no operations; where one fails, the check goes on after it."""

    _ends_script = False

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        super().__exit__(kind, error, trace)
        if not isinstance(error, Failed):
            return False
        self._ends_script = True
        self._case.goes_on(error)
        self._ends_script = False
        return True

    def written(self, body: str, named: bool) -> str:
        return body if self._ends_script else ""


class Raises(Block):
    """``with raises(TypeError)``: the operation inside raises that; ``with raises(error)``: this very exception."""

    error: BaseException

    def __init__(self, *errors: type[BaseException] | BaseException, because: str = "") -> None:
        self._only = errors[0] if isinstance(errors[0], BaseException) else None
        self._errors = tuple(error if isinstance(error, type) else type(error) for error in errors)
        self._names = describe(self._only) if self._only else " or ".join(error.__name__ for error in self._errors)
        self._because = because

    def bind(self, case: Case) -> None:
        super().bind(case)
        self._variable = case.record.written(self._only) if self._only else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if error is None:
            self._fail(came_from(self._case.context.recorder.steps[-1]), UNRAISED)
        if not isinstance(error, OperationRaised):
            return False
        if not isinstance(error.error, self._errors) or self._only not in (None, error.error):
            self._fail(str(error))
        self.error = error.error
        self._case.record.recorder.refused = True
        self._case.held()
        return True

    def _fail(self, actual: str, difference: str = "") -> NoReturn:
        wanted = "an exception" if self._names == "Exception" else self._names
        raise Failed(f"{wanted}{self._because}", actual, difference) from None

    def written(self, body: str, named: bool) -> str:
        return "\n".join(must_raise(body, self._names, self._variable))


class MayRaise(Block):
    """``with may_raise() as refused``: the operation inside may raise, which proves nothing; then ``refused`` is true.

    Args:
        errors: what may be raised, if not every exception.
        when: whether that is so at all.
    """

    def __init__(self, *errors: type[BaseException], when: bool = True) -> None:
        self._errors = (errors or (Exception,)) if when else ()
        self._failed = False
        self.raised: BaseException | None = None

    def __bool__(self) -> bool:
        return self.raised is not None

    def __enter__(self) -> Self:
        self._case.record.excused += bool(self._errors)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._case.record.excused -= bool(self._errors)
        if isinstance(error, OperationRaised) and isinstance(error.error, self._errors):
            self.raised = error.error
            self._case.record.recorder.refused = True
            self._case.note_refusal(error)
        wrong = getattr(error, "error", error)
        self._failed = self.raised is None and isinstance(wrong, Exception)  # an exit is no refusal: others may refuse there
        return self.raised is not None

    def written(self, body: str, named: bool) -> str:
        if not self._errors or self._failed:
            return body
        return f"with suppress(Exception):\n{textwrap.indent(body, INDENT)}" if self.raised else or_exit(body)


class MayRefuse(Block):
    """``with may_refuse() as refused, fault``: the operation inside returns or raises, and both are right.

    Scripts allow for both.

    Args:
        rule: the rule that what is raised is about, if not the one of the check.
        only: the names of the exceptions that may be raised, with those derived from them; any, if there are none.
        never: the names of exceptions that may not be raised.
        expected: what may be raised, in words.
        soft: whether the check goes on after an exception that may not be raised.
    """

    raised: BaseException | None = None
    _ends_script = False

    def __init__(
        self,
        rule: str = "",
        only: Sequence[str] = (),
        never: Sequence[str] = (),
        expected: str = "",
        soft: bool = False,
    ) -> None:
        self._soft = soft
        self.rule = rule
        self.only, self.never = only, never
        self.expected = expected or " or ".join(only)

    def __bool__(self) -> bool:
        return self.raised is not None

    def __enter__(self) -> Self:
        self._case.record.excused += self._excuses
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._case.record.excused -= self._excuses
        if error is None and not self._excuses:
            self._case.record.returned.add(self.rule or self._case.rule)
        if not isinstance(error, OperationRaised) or not isinstance(error.error, Exception):
            return False
        self.raised = error.error
        self._case.record.recorder.refused = True
        if not self.accepts(error.error):
            self._case.context.excuse(error.error)
            failed = Failed(self.expected, f"{error}{self.consequence(error.error)}")
            failed.rule = self.rule
            self._ends_script = True
            if not self._soft:
                raise failed from None
            self._case.goes_on(failed)
            self._ends_script = False
        else:
            self._case.held(self.rule)
        return True

    @property
    def _excuses(self) -> bool:
        return not (self.only or self.never)

    def consequence(self, error: Exception) -> str:
        """Return a clause about what follows from an exception that may not be raised."""
        return ""

    def accepts(self, error: Exception) -> bool:
        """Whether an error may be raised."""
        names = {cls.__name__ for cls in type(error).__mro__}
        return not (self.only and names.isdisjoint(self.only)) and names.isdisjoint(self.never)

    def asserted(self) -> str:
        """Return the lines of a script that fail unless ``error`` may be raised."""
        wanted = f"& {set(self.only)}" if self.only else f"& {set(self.never)} == set()"
        return f"names = {{cls.__name__ for cls in type(error).__mro__}}\nassert names {wanted}, repr(error)"

    def written(self, body: str, named: bool) -> str:
        """Return the lines of a script. With a name, the rest depends on what happened here: the script ends if it does not."""
        if self._ends_script:
            asserted = textwrap.indent(self.asserted(), INDENT)
            return f"try:\n{textwrap.indent(body, INDENT)}\nexcept Exception as error:\n{asserted}"
        if not named:
            return f"with suppress(Exception):\n{textwrap.indent(body, INDENT)}"
        if not self:
            return or_exit(body)
        ends = "pass\nelse:\n    sys.exit()  # it was done, which is right too"
        return f"try:\n{textwrap.indent(body, INDENT)}\nexcept Exception:\n    {ends}"


class MustNotRaise(MayRefuse):
    """``with must_not_raise("a.rule", expected="None"), fault``: what is raised inside fails that rule."""

    def __init__(self, rule: str, expected: str, *, soft: bool = False) -> None:
        super().__init__(rule, never=["Exception"], expected=expected, soft=soft)


class MayRefuseSayingWhy(MayRefuse):
    """``with may_refuse_saying_why()``: what is inside may raise, but not by accident, as a dict that lacks a key does."""

    def __init__(self, expected: str = "an exception that explains what is wrong") -> None:
        super().__init__(expected=expected)

    def accepts(self, error: Exception) -> bool:
        return bool(str(error)) and not is_accident(error)

    def asserted(self) -> str:
        accidents = ", ".join(cls.__name__ for cls in ACCIDENTS)
        return f"assert str(error) and not isinstance(error, ({accidents})), repr(error)"


under_test = UnderTest
subtest = Subtest
raises = Raises
may_raise = MayRaise
may_refuse = MayRefuse
may_refuse_saying_why = MayRefuseSayingWhy
must_not_raise = MustNotRaise

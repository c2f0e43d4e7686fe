"""The model of a queue whose server fails: everything that it may hold, where nobody can know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from queue_conformance.implementation.capabilities import Order
from queue_conformance.kinds.queue.model import next_of

MOST = 500
"""States that are followed at most; beyond that nothing is known any more."""


class State(NamedTuple):
    """One of the things that a queue may hold.

    Attributes:
        contents: the items that leave in their order, in the order of their pushes; sorted, where any of them may be next.
        held: items that a failed pop took out, and that are still to come, at any time.
        extra: items that may come, at any time, or not: a second delivery of what a failed pop took out.
    """

    contents: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    extra: tuple[int, ...] = ()


class UncertainQueueModel:
    """All states that a queue of item numbers may be in.

    Args:
        order: the order in which items leave; with ``Order.NONE`` any stored item may be next.

    Attributes:
        states: the states; none if there were too many to follow.
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self.states: set[State] = {State()}

    @property
    def lost_track(self) -> bool:
        """Whether there were too many states, so that nothing can be judged any more."""
        return not self.states

    @property
    def items(self) -> list[int]:
        """The items that may be there."""
        return sorted({number for state in self.states for part in state for number in part})

    @property
    def least(self) -> int:
        """The smallest length that may be right; an item that a failed pop took out may count or not."""
        return min(max(len(state.contents), int(bool(state.held))) for state in self.states)

    def __len__(self) -> int:
        """Return the largest length that may be right."""
        return max(sum(map(len, state)) for state in self.states)

    def push(self, number: int, *, certain: bool = True) -> None:
        """Store an item, for certain or perhaps."""
        stored = {state._replace(contents=self._in_order(*state.contents, number)) for state in self.states}
        self._follow(stored if certain else stored | self.states)

    def push_late(self, number: int) -> None:
        """Note a push that failed, but may still be carried out at any time."""
        late = {state._replace(extra=tuple(sorted((*state.extra, number)))) for state in self.states}
        self._follow(late | self.states)

    def allowed(self) -> list[int]:
        """Return the items that may come next."""
        return sorted({number for state in self.states for number, _ in self._successors(state)})

    def remove(self, number: int) -> None:
        """Take out an item that was allowed; states in which it was not are dropped."""
        self.states = {after for state in self.states for taken, after in self._successors(state) if taken == number}

    @property
    def may_be_empty(self) -> bool:
        """Whether nothing may be left."""
        return any(not state.contents and not state.held for state in self.states)

    def clear(self) -> None:
        """Note that nothing is left."""
        self.states = {State()}

    def fail_pop(self) -> None:
        """Note a pop that failed on its way: the next item may have been taken out; it is still to come, and may come twice."""
        states = set(self.states)
        for state in self.states:
            for index in self._next_places(state):
                number, rest = state.contents[index], _without(state.contents, index)
                held = tuple(sorted((*state.held, number)))
                states.add(State(rest, held, state.extra))
                states.add(State(rest, held, tuple(sorted((*state.extra, number)))))
            for number in state.held:
                states.add(state._replace(extra=tuple(sorted((*state.extra, number)))))
        self._follow(states)

    def lose_track(self) -> None:
        """Note that nothing can be judged any more."""
        self.states = set()

    def _follow(self, states: set[State]) -> None:
        self.states = states if len(states) <= MOST else set()

    def _in_order(self, *numbers: int) -> tuple[int, ...]:
        """Return contents; without an order, it is one state whichever of several pushes of an item has left."""
        return tuple(sorted(numbers)) if self.order is Order.NONE else numbers

    def _next_places(self, state: State) -> Sequence[int]:
        """Return the positions of the contents that may leave next."""
        return next_of(range(len(state.contents)), self.order)

    def _successors(self, state: State) -> Iterator[tuple[int, State]]:
        """Yield the items that may leave a state next, each with the state after that."""
        for index in self._next_places(state):
            yield state.contents[index], state._replace(contents=_without(state.contents, index))
        for index, number in enumerate(state.held):
            yield number, state._replace(held=_without(state.held, index))
        for index, number in enumerate(state.extra):
            yield number, state._replace(extra=_without(state.extra, index))


def _without(numbers: tuple[int, ...], index: int) -> tuple[int, ...]:
    return numbers[:index] + numbers[index + 1 :]

"""The check of a store that several processes share."""

from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered


@check("dupefilter.shared.atomic")
def one_of_several_processes_is_first(context, filter_factory, times_new):
    new = times_new(filter_factory, range(max(200, 2 * context.examples)))
    if isinstance(new, str):
        raise NotCovered(f"a process failed: {new}")
    new_to_several = sum(times > 1 for times in new)
    assert new_to_several == 0, f"each of {len(new)} requests new to exactly one of four processes"
    new_to_none = sum(times < 1 for times in new)
    assert new_to_none == 0, f"each of {len(new)} requests new to exactly one of four processes"

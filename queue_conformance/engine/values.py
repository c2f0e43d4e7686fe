"""Generated values: Hypothesis draws them by settings of the kit's own."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, Verbosity, settings


def our_settings(examples: int) -> settings:
    """Return settings of Hypothesis that nothing in the author's profiles changes."""
    return settings(
        max_examples=examples,
        backend="hypothesis",
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        print_blob=False,
        report_multiple_bugs=True,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )

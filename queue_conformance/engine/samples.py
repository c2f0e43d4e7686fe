"""What checks of several kinds try."""

NOON = 1_700_000_000

CLOCKS = (
    (NOON, NOON, NOON, NOON),  # within one tick of a coarse clock
    (NOON, NOON - 60, NOON - 60, NOON),  # set back, and running until it shows the first time again
)
"""What the clock shows when four requests are stored, in seconds since the epoch."""

REASONS = ("shutdown", "finished", "cancelled", "closespider_timeout", "memusage_exceeded", "my own reason, naïve")
"""Reasons for which spiders are closed."""

"""The checks of dupefilters."""

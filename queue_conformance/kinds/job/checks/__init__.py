"""The checks of jobs."""

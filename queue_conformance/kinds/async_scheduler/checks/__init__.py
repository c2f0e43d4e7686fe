"""The checks of async schedulers."""

"""The checks of schedulers."""

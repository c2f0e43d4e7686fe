"""The checks of whole crawls."""

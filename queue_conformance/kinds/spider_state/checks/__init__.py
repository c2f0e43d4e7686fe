"""The checks of spider-state extensions."""

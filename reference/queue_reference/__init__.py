"""Right implementations of every kind, written to be read and copied from."""

"""One folder for each kind of implementation, with all that belongs to it."""

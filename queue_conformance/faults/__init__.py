"""Ways to hurt a backend. Each one can tell whether it hit."""

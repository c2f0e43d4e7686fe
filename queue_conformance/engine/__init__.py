"""The engine: what runs checks, records what they do, and says it again as a script. It knows no kind."""

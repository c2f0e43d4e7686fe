"""What classes cost as they grow: ``queue-conformance measure``."""

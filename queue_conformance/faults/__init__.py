"""Faults of disks, connections and servers; each one can tell whether it hit."""

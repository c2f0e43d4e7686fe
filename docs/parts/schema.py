"""The records of a report as a page, from their JSON schema."""

from __future__ import annotations


def records() -> str:
    return ""

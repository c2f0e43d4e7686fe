"""The driver of asynchronous queues."""

from __future__ import annotations

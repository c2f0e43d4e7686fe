"""The driver of asynchronous schedulers."""

from __future__ import annotations

"""Processes of their own, watched and ended, and what these share: nothing here knows checks or kinds."""

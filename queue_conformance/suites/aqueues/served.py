"""Checks of asynchronous queues behind a server."""

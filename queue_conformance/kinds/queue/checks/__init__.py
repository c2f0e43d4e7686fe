"""The checks of queues."""

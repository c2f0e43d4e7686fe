"""The checks of priority queues."""

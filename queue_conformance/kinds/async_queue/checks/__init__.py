"""The checks of async queues."""

"""The checks of queuelib's collections of queues."""

"""What checks of asynchronous queues share."""

REAL = "it works on the stock event loop alone, so time is real and waits are bounded: {} at moments that are not under control"

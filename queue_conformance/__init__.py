"""A conformance test kit for crawl queues and schedulers, as a pytest plugin.

The command line is the entrance: ``pytest --queue-class=my_package.MyQueue``. Queues behind a server raise the errors that
the documented interface names, which no release of Scrapy defines: :class:`TransientError` and :class:`SerializationError`.
"""

from queue_conformance.errors import SerializationError, TransientError

__all__ = ["SerializationError", "TransientError"]

__version__ = "0.1.0"

"""A conformance test kit for crawl queues and schedulers, as a pytest plugin.

The command line is the entrance: ``pytest --queue-class=my_package.MyQueue``.
"""

__version__ = "0.1.0"

"""Command sequences under the names that checks use."""

from queue_conformance.engine.sequences import Command as Operation
from queue_conformance.engine.sequences import Commands as Program
from queue_conformance.engine.sequences import commands as program
from queue_conformance.engine.sequences import decode, encode

__all__ = ["Operation", "Program", "decode", "encode", "program"]

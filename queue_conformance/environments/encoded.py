"""Contents that are encoded as a queue may encode others."""

import base64
import marshal
import pickle
import zlib

TEXT = b"an item of which much is the same, much is the same"

ENCODED: tuple[bytes, ...] = (
    zlib.compress(TEXT),
    zlib.compress(TEXT, wbits=31),  # as gzip does
    pickle.dumps(TEXT),
    marshal.dumps(TEXT),
    base64.b64encode(TEXT),
    TEXT.hex().encode(),
    b'"an item"',
)
"""Contents that look like what a queue may make of another one: those that a crawl has compressed or serialized itself."""

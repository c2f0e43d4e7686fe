"""Write or read queues of queuelib: ``python queues.py write|read DIR``; prints what was left, or what came out, as JSON."""

import json
import sys
from pathlib import Path

from queuelib.queue import FifoDiskQueue, FifoSQLiteQueue, LifoDiskQueue, LifoSQLiteQueue

what, directory = sys.argv[1], Path(sys.argv[2])
found = {}
for cls in (FifoDiskQueue, LifoDiskQueue, FifoSQLiteQueue, LifoSQLiteQueue):
    items = []
    try:
        queue = cls(str(directory / cls.__name__))
        for number in range(20 if what == "write" else 0):
            queue.push(b"item %d" % number + bytes(range(256)))
        for _ in range(5 if what == "write" else len(queue)):
            items.append(queue.pop().hex())
        queue.close()
        if what == "write":
            items = [(b"item %d" % number + bytes(range(256))).hex() for number in range(20)]
            items = items[5:] if "Fifo" in cls.__name__ else items[14::-1]
        found[cls.__name__] = {"items": items, "told": ""}
    except Exception as error:
        found[cls.__name__] = {"items": items, "told": f"{type(error).__name__}: {error}"}
print(json.dumps(found))

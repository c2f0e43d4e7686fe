"""Rewrite ``requests.seen`` of a job that is closed: ``python seen.py JOBDIR``, or with ``--back``.

Up to Scrapy 2.18 it holds a line of hexadecimal digits for each fingerprint, from 2.19 on its length in two bytes and itself.
"""

import sys
from pathlib import Path

file = Path(sys.argv[1], "requests.seen")
data, seen = file.read_bytes(), []
if "--back" in sys.argv:
    while data:
        size = int.from_bytes(data[:2], "big")
        seen.append(data[2 : 2 + size])
        data = data[2 + size :]
    file.write_text("".join(f"{one.hex()}\n" for one in seen))
else:
    seen = [bytes.fromhex(line) for line in data.decode("ascii").split()]
    file.write_bytes(b"".join(len(one).to_bytes(2, "big") + one for one in seen))

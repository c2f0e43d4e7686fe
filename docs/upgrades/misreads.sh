# A request that qCrawl 0.4 stored for a callback, and with arguments for it, has neither when 0.3.5 reads it.
cd "$(mktemp -d)"
for release in 0.4.0 0.3.5; do python3 -m venv $release && $release/bin/pip install --quiet qcrawl==$release; done
cat > write.py <<'END'
import asyncio
from qcrawl.core.queues.disk import DiskQueue
from qcrawl.core.request import Request
asyncio.run(DiskQueue("queue").put(Request("https://example.com/", callback="parse_item", cb_kwargs={"shop": 1})))
END
cat > read.py <<'END'
import asyncio
from qcrawl.core.queues.disk import DiskQueue
request = asyncio.run(DiskQueue("queue").get())
print(request.url, getattr(request, "callback", None), getattr(request, "cb_kwargs", None))
END
for release in 0.4.0 0.3.5; do 0.4.0/bin/python write.py && $release/bin/python read.py; done
# https://example.com/ parse_item {'shop': 1}
# https://example.com/ None None

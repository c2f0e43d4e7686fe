from timeit import timeit
from types import SimpleNamespace

from scrapy import Request
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import LifoMemoryQueue
from scrapy.utils.test import get_crawler

for count in (64, 1024):
    crawler = get_crawler()
    crawler.engine = SimpleNamespace(downloader=SimpleNamespace(slots={}, get_slot_key=lambda request: request.url))
    queue = DownloaderAwarePriorityQueue.from_crawler(crawler, LifoMemoryQueue, "")
    for number in range(count):
        queue.push(Request(f"https://host{number}.example/"))
    print(count, f"len: {timeit(lambda queue=queue: len(queue), number=10) * 1e5:.0f} µs")
    print(count, f"pop: {timeit(queue.pop, number=10) * 1e5:.0f} µs")

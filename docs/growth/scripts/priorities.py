from timeit import timeit

from scrapy import Request
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.squeues import LifoMemoryQueue
from scrapy.utils.test import get_crawler

for count in (64, 1024):
    queue = ScrapyPriorityQueue.from_crawler(get_crawler(), LifoMemoryQueue, "")
    for number in range(count):
        queue.push(Request(f"https://example.com/{number}", priority=number))
    print(count, f"len: {timeit(lambda queue=queue: len(queue), number=10) * 1e5:.0f} µs")
    print(count, f"pop: {timeit(queue.pop, number=10) * 1e5:.0f} µs")

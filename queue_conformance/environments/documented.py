"""A scheduler that does of errors of queues what the documents say.

Settings of Scrapy name it, and scripts do; the file has no annotations.
"""

from scrapy.core.scheduler import Scheduler

from queue_conformance.environments.addresses import page_of
from queue_conformance.environments.site import say
from queue_conformance.environments.waiting import AGAIN


class DocumentedScheduler(Scheduler):
    """Scrapy's scheduler, which does of errors of its disk queue what the documents say, and no release does yet.

    It keeps in memory what cannot be stored for a while: then ``push`` raises an error with one of the names of the setting
    TRANSIENT. Any other error ends the crawl. Without that setting it only says which pages were not stored.
    """

    def _dqpush(self, request):
        try:
            return super()._dqpush(request)
        except Exception as error:
            if {cls.__name__ for cls in type(error).__mro__}.intersection(self.crawler.settings.getlist("TRANSIENT")):
                return False
            say("noted unstored", page_of(request))
            self.halt()
            raise

    def _dqpop(self):
        try:
            return super()._dqpop()
        except Exception:
            self.halt()
            raise

    def halt(self):
        if self.crawler.settings["TRANSIENT"]:
            self.crawler.engine.close_spider(self.spider, "halted")
        else:
            self.spider.slot.nextcall.schedule(AGAIN)  # as after scheduler_empty

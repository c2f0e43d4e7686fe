"""Broken schedulers that use the world around them."""

from __future__ import annotations

from gallery import breaks
from gallery.right_worlds import StoresWhereItWorks

RIGHT = "gallery.right_worlds.StoresWhereItWorks"


@breaks("scheduler.resume.all", right=RIGHT)
class LosesTheFirst(StoresWhereItWorks):
    """When it finds requests in the working directory, it drops the oldest one."""

    def open(self, spider):
        super().open(spider)
        self.db.execute("DELETE FROM requests WHERE id = (SELECT min(id) FROM requests)")

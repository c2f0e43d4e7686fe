"""A stand-in for the engine and its downloader, for components that look at the downloader's slots.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

from urllib.parse import urlsplit


class Slot:
    def __init__(self, active=0):
        self.active = set(range(active))


class Downloader:
    """The slots of a downloader; ``activity`` says how many requests each of them is downloading."""

    def __init__(self, **activity):
        self.slots = {name: Slot(active) for name, active in activity.items()}

    def get_slot_key(self, request):
        slot = request.meta.get("download_slot")
        return slot if slot is not None else urlsplit(request.url).hostname or ""


class Engine:
    def __init__(self, downloader):
        self.downloader = downloader

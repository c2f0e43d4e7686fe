"""Campaigns: other seeds and more sequences, on as many processes and machines as there are, until the time is over.

dask.distributed schedules the tasks, tries them again, and carries what comes of them. The client keeps that in a directory, so
that a campaign can be stopped and resumed.
"""


class CampaignError(Exception):
    """A campaign cannot go on; the message is one line."""

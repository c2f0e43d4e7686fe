"""What scripts quote for a queue without a server whose requests have no bodies: a URL tells them apart."""


def contents(requests):
    return sorted(request.url for request in requests if request is not None)

"""How a request names a page of a site: by its path, or by what else tells requests apart.

Scripts import what they need from this file; it has no annotations.
"""

from urllib.parse import parse_qs, urlsplit

from scrapy import FormRequest, Request

BY = ("path", "query", "case", "body", "method")
"""What may tell the requests for two pages apart."""

NOWHERE = -1
"""The number of what is no page."""

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
WORD = "collection"


def request_for(site, page, by="path", **given):
    """Return the request for a page of a site, with further arguments."""
    if by == "body":
        return FormRequest(f"{site}/form", formdata={"page": str(page)}, **given)
    if by == "method":
        return Request(f"{site}/method/{page // len(METHODS)}", method=METHODS[page % len(METHODS)], **given)
    path = {"query": f"list?page={page}", "case": _cased(page)}.get(by, page)
    return Request(f"{site}/{path}", **given)


def _cased(page):
    """Return a word whose capital letters are the binary digits of a number."""
    return "".join(letter.upper() if page >> place & 1 else letter for place, letter in enumerate(WORD))


def page_at(method, url, body=b""):
    """Return the number of the page that a request is for; one that was changed on its way is for none."""
    parts = urlsplit(url)
    path, fields = parts.path[1:], parse_qs(parts.query) | parse_qs(body.decode("latin-1"))
    kind, _, rest = path.partition("/")
    if kind in ("list", "form"):
        by, number = ("query" if kind == "list" else "body"), fields.get("page", [""])[0]
    elif kind == "method" and method in METHODS and rest.isdigit():
        by, number = kind, str(int(rest) * len(METHODS) + METHODS.index(method))
    elif path.lower() == WORD:
        by, number = (
            "case",
            str(sum((letter != small) << place for place, (letter, small) in enumerate(zip(path, WORD, strict=True)))),
        )
    else:
        by, number = "path", path
    if not number.isdigit():
        return NOWHERE
    right = request_for(f"{parts.scheme or 'http'}://{parts.netloc or 'site'}", int(number), by)
    return int(number) if right.method == method and right.body == body and right.url.endswith(url) else NOWHERE


def page_of(request):
    """Return the number of the page that a request of Scrapy is for."""
    return page_at(request.method, request.url, request.body)

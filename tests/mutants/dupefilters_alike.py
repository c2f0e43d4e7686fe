"""Dupefilters that take distinct pages for duplicates, each in its own way, or do not ignore what they claim to."""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from zlib import crc32

from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.request import RequestFingerprinter, fingerprint
from w3lib.url import canonicalize_url, url_query_cleaner

from mutants import mutant
from mutants.dupefilters import RIGHT, Bloom, ChangesURLs, DupeFilter

RENEWED = "dupefilter.seen.no-false-positive"


@mutant(fails=RENEWED, control=RIGHT, hint="Ask crawler.request_fingerprinter")
class IgnoresQueries(ChangesURLs):
    """It takes requests with other queries for duplicates."""

    def changed(self, url):
        return url.partition("?")[0]


@mutant(fails=RENEWED, control=RIGHT, hint="A filter that is meant to leave out")
class IgnoresTracking(ChangesURLs):
    """It leaves out parameters that say where a visitor came from."""

    def changed(self, url):
        return url_query_cleaner(url, ("utm_source", "utm_medium"), remove=True, unique=False)


@mutant(fails=RENEWED, control=RIGHT)
class IgnoresCase(ChangesURLs):
    """It takes paths for the same that differ in case."""

    def changed(self, url):
        return url.lower()


@mutant(fails=RENEWED)
class IgnoresBodies(DupeFilter):
    """It takes forms with other fields for duplicates."""

    def _fingerprint(self, request):
        return super()._fingerprint(request.replace(body=b""))


@mutant(fails=RENEWED)
class JoinsURLAndBody(DupeFilter):
    """It writes the body behind the URL, with nothing between them."""

    def _fingerprint(self, request):
        return super()._fingerprint(request.replace(url=request.url + request.body.decode("latin-1"), body=b""))


@mutant(fails=RENEWED)
class IgnoresMethods(DupeFilter):
    """It takes requests with other methods for duplicates."""

    def _fingerprint(self, request):
        return super()._fingerprint(request.replace(method="GET"))


@mutant(fails=RENEWED)
class GoesByAField(DupeFilter):
    """It tells what is posted apart by a field in the meta, and what has none not at all."""

    def _fingerprint(self, request):
        if request.method != "POST":
            return super()._fingerprint(request)
        return str(request.meta.get("document")).encode()


@mutant(fails=RENEWED, control=RIGHT)
class SumsUpURLs(ChangesURLs):
    """It keeps a checksum of four bytes of the URL."""

    def changed(self, url):
        return f"https://{crc32(canonicalize_url(url).encode())}.example"


@mutant(fails=RENEWED, control=RIGHT)
class SumsUpHosts(ChangesURLs):
    """It names hosts by a checksum of four bytes, so that the home pages of some sites are one."""

    def changed(self, url):
        host = urlsplit(url).netloc
        return url.replace(host, f"{crc32(host.encode())}.example", 1)


@mutant(fails=RENEWED)
class KeepsFingerprintsInUpperCase(DupeFilter):
    """Its store does not tell cases apart."""

    def _fingerprint(self, request):
        return super()._fingerprint(request).upper()


@mutant(fails=RENEWED)
class KeepsFingerprintsAsText(DupeFilter):
    """It replaces what is no text."""

    def _fingerprint(self, request):
        return super()._fingerprint(request).decode(errors="replace").encode()


@mutant(fails=(RENEWED, "dupefilter.crash.no-false-positive"))
class CutsFingerprintsAtZeros(DupeFilter):
    """It gives fingerprints to a library in C, as strings that end with a zero."""

    def _fingerprint(self, request):
        return super()._fingerprint(request).partition(b"\0")[0]


@mutant(fails=RENEWED)
class StripsFingerprints(DupeFilter):
    """It removes blanks at the ends of fingerprints."""

    def _fingerprint(self, request):
        return super()._fingerprint(request).strip()


@mutant(fails="dupefilter.persist.resume")
class StoresFingerprintsWithoutNewlines(DupeFilter):
    """It takes a newline at the end of a fingerprint for one at the end of a line: of 256 pages one is downloaded again."""

    def _store(self, file, fingerprint):
        super()._store(file, fingerprint.rstrip(b"\n"))


class WithoutQuery(RequestFingerprinter):
    """What makes one fingerprint of all queries."""

    def fingerprint(self, request):
        return fingerprint(request.replace(url=request.url.partition("?")[0]))


@mutant(
    fails={RENEWED, "dupefilter.seen.custom-fingerprinter"},
    may_fail=("dupefilter.subclass.fingerprint", "dupefilter.format.unknown", "dupefilter.crash.then-clean"),
)
class FingerprintsWithoutQuery(RFPDupeFilter):
    """It brings a fingerprinter of its own, to which the query does not count."""

    @classmethod
    def from_crawler(cls, crawler):
        made = super().from_crawler(crawler)
        made.fingerprinter = WithoutQuery()
        return made


@mutant(fails=RENEWED, control="mutants.controls_stores.CachesFingerprints", hint="Keep nothing of a request")
class KeepsFingerprintsInMeta(DupeFilter):
    """It computes a fingerprint once, and keeps it in the meta of the request."""

    def _fingerprint(self, request):
        if "fingerprint_seen" not in request.meta:
            request.meta["fingerprint_seen"] = super()._fingerprint(request)
        return request.meta["fingerprint_seen"]


@mutant(
    fails="dupefilter.seen.ignores",
    control="mutants.dupefilters_alike.IgnoresQueries",
    claims={"ignores": "query"},
    may_fail="dupefilter.seen.no-false-positive",
)
class IgnoresValuesOnly(ChangesURLs):
    """It claims to ignore queries, and ignores no more than the values in them."""

    def changed(self, url):
        return re.sub(r"=[^&]*", "=", url)


@mutant(fails="dupefilter.seen.ignores", control="mutants.dupefilters.IgnoresMethodAndBody", claims={"ignores": "method,body"})
class IgnoresBodiesOnly(IgnoresBodies):
    """It claims to ignore methods, too."""


@mutant(fails=RENEWED, control=RIGHT, claims={"ignores": "query"})
class IgnoresMoreThanItClaims(IgnoresQueries):
    """Where it claims to ignore queries, it ignores case, too."""

    def changed(self, url):
        return super().changed(url).lower()


@mutant(fails="dupefilter.seen.first", control="mutants.dupefilters.Bloom", claims={"probabilistic": "yes"})
class BloomWithoutBodies(Bloom):
    """It has an error rate, and bodies do not count."""

    def _fingerprint(self, request):
        return super()._fingerprint(request.replace(body=b""))

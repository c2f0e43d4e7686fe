"""No secret of the settings leaves the kit, whatever shape it has, and reports stay readable and scripts runnable."""

from __future__ import annotations

import base64
import html
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kit import FIFO_MEMORY, RELEASES, examine
from made_reports import violation

from queue_conformance import UsageError
from queue_conformance import examine as examine_class
from queue_conformance.config.values import settings_of
from queue_conformance.discovery.record import Discovery
from queue_conformance.discovery.stages import discover
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome
from queue_conformance.frontends.printing import WithoutSecrets, told
from queue_conformance.reports import Report, files, jsonl, report_on
from queue_conformance.running.contexts import RunConfig
from queue_conformance.running.replay import ReplayError, State, replay
from queue_conformance.secrets import Secrets
from queue_conformance.secrets.values import is_ordinary, is_secret
from queue_conformance.specification.settings import source_of_setting, source_of_settings

NAMES = (
    *("PASSWORD_REDIS", "API-KEY", "AUTHORIZATION", "COOKIE", "SESSION_ID", "ENCRYPTION_KEY", "redisPassword", "DSN"),
    *("FTP_PASSWORD", "X_TOKEN", "CLIENT_SECRET", "REDIS_PASS", "apikey", "AWS_ACCESS_KEY_ID", "HTTPAUTH", "CREDENTIALS"),
)
OPEN_NAMES = (
    "QUEUE_KEY",
    "AUTHOR",
    "COOKIES_ENABLED",
    "AUTH_TIMEOUT",
    "TOKEN_TTL",
    "BYPASS",
    "COMPASS",
    "KEY",
    "DUPEFILTER_KEY",
    "HOST",
)

NOTHING = re.compile(r"[\W\d_]*|[\W_]*(None|True|False)[\W_]*", re.IGNORECASE)
SECRETS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S"), include_characters=" \n"), min_size=5).filter(
    lambda text: text.strip() == text and not is_ordinary(text, "") and not NOTHING.fullmatch(text)
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_may_tell_of_a_secret(name):
    assert is_secret(name)


@pytest.mark.parametrize("name", OPEN_NAMES)
def test_a_name_like_that_of_a_secret_may_be_none(name):
    assert not is_secret(name)


# --- Every shape, every file ------------------------------------------------------------------------------------------


@st.composite
def shapes(draw):
    """Return settings, and the secret in them."""
    secret, name = draw(SECRETS), draw(st.sampled_from(NAMES))
    table = draw(st.sampled_from([{name: secret}, {"db": 1, name: [secret, 2]}, {"pools": [{"name": "one", name: secret}]}]))
    in_url = quote(secret, safe="") if draw(st.booleans()) or re.search(r"[/?#\s\\]|://", secret) else secret
    value = draw(
        st.sampled_from(
            [
                table,
                json.dumps(table),
                json.dumps(table, ensure_ascii=False),
                repr(table),
                f"redis://me:{in_url}@localhost:6379/0",
                f"redis://:{in_url}@localhost/0",
                f"amqp://{quote(secret, safe='')}@rabbit",
                f"redis://localhost/0?password={quote_plus(secret)}&db=1",
                ["redis://one:1", f"redis://:{in_url}@two:2"],
                f"host=localhost password={secret!r}",
                [name, secret],
            ]
        )
    )
    return draw(st.sampled_from([{name: secret}, {"X_PARAMS": value}, {"A": "1", "X_PARAMS": value, name: secret}])), secret


@cache
def discovered() -> Discovery:
    """Return what is known of a queue."""
    with tempfile.TemporaryDirectory() as directory:
        return discover(FIFO_MEMORY, {}, {}, RunConfig(Path(directory)))


def told_by(secret: str, given: object) -> list[str]:
    """Return texts that tell a secret."""
    value = str(given)
    nested = repr(json.dumps([secret]))
    data = secret.encode()
    return [
        *(value, repr(given), secret, repr(secret), json.dumps(secret), json.dumps({"said": nested}), repr(nested)),
        *(quote(value), quote_plus(secret), repr(data), html.escape(secret), f"<b>{secret}</b>", quote(repr(secret))),
        *(base64.b64encode(data).decode(), base64.b64encode(b"me:" + data).decode(), data.hex()),
    ]


def strings(value: object) -> list[str]:
    """Return all texts in a value that JSON knows."""
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


@settings(max_examples=50, deadline=None, derandomize=True, phases=[Phase.generate])
@given(shapes())
def test_no_secret_is_in_any_file_or_stream(drawn):
    given, secret = drawn
    texts = told_by(secret, given)
    source = source_of_settings(given)
    shown = violation(
        expected=texts[0],
        actual="; ".join(texts),
        operations=(f"queue = Queue({source})", *texts),
        script=f"import tempfile\n\nqueue = Queue({source})\n# {texts[1]}\n",
        stacks="\n".join(texts),
        cause=texts[2],
        others=(violation(actual=repr(texts)),),
    )
    found = (
        Observation("queue.pop.empty-none", Outcome.FAILED, "one", violation=shown),
        Observation("queue.close.twice", Outcome.BLOCKED, "one", "; ".join(texts)),
    )
    known = replace(discovered(), settings=given, notes=tuple(texts))
    report = Report((report_on(known, [CheckResult("one", found, tuple(texts))], RELEASES),))
    hidden = Secrets(given)
    stream = io.StringIO()
    for text in texts:
        WithoutSecrets(stream, lambda: hidden).write(text + "\n")
    written = {end: files.render(report, PurePath(f"report{end}")) for end in files.RENDERERS}
    written |= {"terminal": str(report), "stream": stream.getvalue(), "pytest": told("; ".join(texts), hidden.text)}
    forms = {secret, *(text for text in told_by(secret, secret) if text.isascii() or secret in text)} - {""}
    records = [text for line in written[".jsonl"].splitlines() for text in strings(json.loads(line))]
    for where, text in [*written.items(), *(("record", one) for one in records)]:
        for form in forms:
            assert form.strip("'\"") not in text, where


def test_secrets_are_not_told():
    given = {
        "REDIS_URL": "redis://me:hunter2@localhost:6379/0",
        "API_TOKEN": "abcdefgh",
        "DSN": "x",
        "OPTIONS": {"password": "hunter3", "port": 1},
        "REDIS_PARAMS": '{"password": "hunter5", "db": 3}',
        "QUEUE_KEY": "requests",
        "HOSTS": ["amqp://:hunter4@rabbit"],
        "SENTRY": "https://0a1b2c3d@sentry.io/1",
        "FTP_PASSWORD": "",
        "COOKIES_ENABLED": "True",
    }
    secrets = Secrets(given)
    assert secrets.settings(given) == {
        "REDIS_URL": "redis://me:***@localhost:6379/0",
        "API_TOKEN": "***",
        "DSN": "***",
        "OPTIONS": {"password": "***", "port": 1},
        "REDIS_PARAMS": '{"password": "***", "db": 3}',
        "QUEUE_KEY": "requests",
        "HOSTS": ["amqp://:***@rabbit"],
        "SENTRY": "https://***@sentry.io/1",
        "FTP_PASSWORD": "",
        "COOKIES_ENABLED": "True",
    }
    assert secrets.text("no answer from redis://me:hunter2@localhost, token abcdefgh") == (
        "no answer from redis://me:***@localhost, token ***"
    )
    assert (
        secrets.text("AuthError('password hunt...') from {'password': 'hunt...")
        == "AuthError('password ***...') from {'password': '***..."
    )


@pytest.mark.parametrize("value", ["a", "1", "redis", "localhost", "6379", "password", "***"])
def test_an_ordinary_word_is_hidden_where_it_is_the_value_of_its_setting_alone(value):
    given = {"REDIS_PASSWORD": value, "REDIS_PARAMS": json.dumps({"password": value, "port": 1})}
    secrets = Secrets(given, said="a.redis.Queue")
    assert secrets.settings(given) == {"REDIS_PASSWORD": "***", "REDIS_PARAMS": '{"password": "***", "port": 1}'}
    plain = "a redis queue at localhost:6379 took 1 item, and asked for a password"
    assert secrets.text(plain) == plain
    assert secrets.text(str(given)) == secrets.text(repr(given)) == str(secrets.settings(given))
    assert secrets.text(f"connect(REDIS_PASSWORD={value}, x=1)") == "connect(REDIS_PASSWORD=***, x=1)"
    assert secrets.text(f"redis://me:{value}@localhost") == "redis://me:***@localhost"


# --- Scripts ----------------------------------------------------------------------------------------------------------


def test_a_script_without_a_password_stays_a_script():
    line = "queue = Queue(user=None, password=None, namespace='qcrawl', url='https://user:pass@example.com/')"
    assert Secrets({}).text(line) == line


def test_a_script_reads_secrets_from_the_environment(monkeypatch):
    given = {"FTP_PASSWORD": "hunter2", "FEED_URI_PARAMS": '{"password": "a"}', "JOBDIR": "job"}
    report = examine("mutants.memory.PeeksAtTheNewest", settings=given, only="queue.peek.equals-pop")
    assert report.settings == {"FTP_PASSWORD": "***", "FEED_URI_PARAMS": '{"password": "***"}', "JOBDIR": "job"}
    (verdict,) = (verdict for verdict in report.verdicts if verdict.violation)
    script = verdict.violation.script
    assert """'FTP_PASSWORD': os.environ["FTP_PASSWORD"], 'FEED_URI_PARAMS': os.environ["FEED_URI_PARAMS"]""" in script
    assert "hunter2" not in jsonl.render(Report((report,)))
    with pytest.raises(ReplayError, match=r"its script reads .* set FTP_PASSWORD, FEED_URI_PARAMS"):
        replay(verdict.violation)
    for name in ("FTP_PASSWORD", "FEED_URI_PARAMS"):
        monkeypatch.setenv(name, given[name])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    replayed = replay(replace(verdict.violation, script=f"{script}print(os.environ)\n"))
    assert replayed.state is State.FAILED
    assert replayed.why.startswith("AssertionError")


def test_a_script_reads_an_argument_as_the_kit_does():
    secrets = Secrets({"password": 12345, "url": "redis://:hunter2@{host}:{port}/0"})
    script = '"""It."""\n\nimport tempfile\nfrom time import time\n\n\nqueue = Queue(password=12345, url=f\'redis://:hunter2@{backend.host}:{backend.port}/0\')\n'
    assert secrets.script(script) == (
        '"""It."""\n\nimport ast\nimport os\nimport tempfile\nfrom time import time\n\n\n'
        'queue = Queue(password=ast.literal_eval(os.environ["password"]), '
        'url=os.environ["url"].replace("{host}", backend.host).replace("{port}", str(backend.port)))\n'
    )


def test_a_password_of_the_kits_own_is_asked_for_and_is_no_secret(monkeypatch):
    pytest.importorskip("fakeredis")
    settings = {"REDIS_URL": "redis://:{password}@{host}:{port}/0", "REDIS_TIMEOUT": "0.5"}
    how = {"settings": settings, "server": "fakeredis", "only": "queue.push.transient-error", "examples": 5}
    report = examine("mutants.redis.SwallowsAFailedPush", **how)
    assert report.settings == settings
    (verdict,) = (verdict for verdict in report.verdicts if verdict.rule.id == how["only"])
    assert "'REDIS_URL': f'redis://:{backend.password}@{backend.host}:{backend.port}/0'" in verdict.violation.script
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert replay(verdict.violation).state is State.FAILED
    both = {"URL": "http://me:hunter2@{host}/?password={password}", "password": "{password}"}
    assert Secrets(both).settings(both) == {"URL": "http://me:***@{host}/?password={password}", "password": "{password}"}
    assert (
        Secrets(both)
        .script("f(URL=" + source_of_setting(both["URL"]) + ")")
        .endswith('f(URL=os.environ["URL"].replace("{host}", backend.host).replace("{password}", backend.password))')
    )


# --- What pytest prints ----------------------------------------------------------------------------------------------

LEAKS = '''
import sys, warnings

class Leaks:
    """A queue that tells what it knows."""

    def __init__(self, crawler, key):
        self.said = dict(crawler.settings.getdict("REDIS_PARAMS"), url=crawler.settings["REDIS_URL"])
        self.items = []
        print("told", self.said, file=sys.stderr)
        print(repr(self.said).encode())
        warnings.warn(f"careful {self.said}")

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def push(self, request):
        self.items.append(request)

    def pop(self):
        if not self.items:
            raise IndexError(f"cannot reach {self.said}")
        return self.items.pop()

    def close(self):
        self.items = []

    def __len__(self):
        return len(self.items)


def test_of_the_author():
    warnings.warn("of hunter2")
    assert "hunter2" == "p@ssw0rd", "no hunter2"
'''


def test_pytest_prints_no_secret(tmp_path):
    (tmp_path / "test_leaks.py").write_text(LEAKS)
    summary = tmp_path / "summary.md"
    endings = ("jsonl", "html", "md", "xml")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-l", "-k", "pop.empty-none or author"]
    command += ["test_leaks.py", "--queue-class=test_leaks.Leaks", '--queue-setting=REDIS_PARAMS={"password": "hunter2"}']
    command += ["--queue-setting=REDIS_URL=redis://:p@ssw0rd@localhost", "--junitxml=junit.xml"]
    command += ["--conformance-examples=3", *(f"--conformance-report=it.{end}" for end in endings)]
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(summary), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "cannot reach" in ended.stdout
    assert "told {" in ended.stdout
    assert "no ***" in ended.stdout
    written = {file.name: file.read_text() for file in (summary, tmp_path / "junit.xml", *tmp_path.glob("it.*"))}
    # What fails in the author's own tests is the author's in the file that pytest writes.
    written["junit.xml"] = written["junit.xml"].partition('name="test_of_the_author"')[0]
    for where, text in {"stdout": ended.stdout, "stderr": ended.stderr, **written}.items():
        assert "hunter2" not in text, where
        assert "p@ssw0rd" not in text, where


@pytest.mark.parametrize("given", ["FTP_PASSWORD hunter2", "=hunter2", "redis://:hunter2@localhost"])
def test_a_setting_that_is_none_is_not_told_either(given):
    with pytest.raises(UsageError) as caught:
        settings_of([given], "--queue-setting")
    assert "hunter2" not in str(caught.value)


class Uninstalled:
    """A queue that needs something."""

    def __init__(self, crawler, key):
        raise ImportError(f"nothing for {crawler.settings['FTP_PASSWORD']}")

    @classmethod
    def from_crawler(cls, crawler, key):
        """Build one."""
        return cls(crawler, key)

    def push(self, request):
        """Take a request."""

    def pop(self):
        """Return none."""

    def close(self):
        """Do nothing."""

    def __len__(self):
        return 0


def test_a_class_that_cannot_be_tested_tells_nothing():
    report = examine_class(Uninstalled, settings={"FTP_PASSWORD": "hunter2"})
    assert "it cannot be used here: ImportError('nothing for ***'): install what it needs" in " ".join(str(report).split())
    assert "hunter2" not in str(report)

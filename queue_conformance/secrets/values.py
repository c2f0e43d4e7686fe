"""Which values of settings are secret, and how texts may write them."""

from __future__ import annotations

import ast
import base64
import html
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAMES = re.compile(
    r"(?<!by)(?<!com)pass_|pass(word|wd|phrase|code)s?_|pwd|_pw_|secret|credential|token|cookie|jwt|bearer|signature"
    r"|auth(orization|entication)?_|_session_|sess(ion)?_?id_|_(sid|otp|pin|salt)_|dsn_"
    r"|(api|app|access|private|secret|encrypt(ion)?|sign(ing)?|master|account|storage|shared|service|license|ssh|ssl|tls|aes|hmac"
    r"|rsa|fernet|crypto|cipher|client|session)_?keys?_"
)
_ABOUT = frozenset(
    {"enabled", "debug", "timeout", "ttl", "expires", "expiry", "age", "size", "length", "limit", "count", "seconds", "days"}
    | {"class", "file", "path"}
)
"""Last words of names that tell something about a secret, and not the secret."""

MADE = "{password}"
"""What settings write for a password that the kit makes, which is no secret of the author's."""

_NOTHING = frozenset({"", "none", "null", "true", "false"})
"""Values that are no secret under any name."""

_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://")
_NEXT_URL = re.compile(rf"[,;|\s]+(?={_SCHEME.pattern})")
_PAIR = re.compile(r"""([\w.-]+)["']?\s*[:=]\s*(?!//)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^&;\s,}\]"']+)""")
_HEADER = re.compile(r"^\s*([\w-]+):[ \t]+(.+)$", re.MULTILINE)

SHORTEST = 4
"""Characters that a secret has at least to be looked for within words, and its beginning where a text was cut off."""

SLASH = r"(?:\\|%5[Cc])"
"""A pattern of a backslash; texts that quote texts double it, again and again."""

_CUT = 60
"""Characters of a beginning that are compared."""

LONG = 8
"""Characters that a part of a secret, or a secret in hexadecimal or base64, has at least to be looked for."""


def is_secret(name: str) -> bool:
    """Whether the value of a setting of this name is to be hidden."""
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and words[-1] not in _ABOUT and _NAMES.search(f"_{'_'.join(words)}_") is not None


def secrets_in(name: str, value: object, hidden: bool = False) -> Iterator[str]:
    """Yield the secrets in the value of a setting.

    Args:
        name: the name that it stands under.
        value: the value; texts are read as JSON, Python, URLs and lists of pairs too.
        hidden: whether all of it is secret.
    """
    hidden = hidden or is_secret(name)
    if isinstance(value, str):
        value = value.replace(MADE, "")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        for key, one in pairs_of(name, value):
            yield from secrets_in(key, one, hidden)
        return
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
    if hidden and text.lower() not in _NOTHING:
        yield text
        yield from (part for part in re.split(r"[\s;,=]+", text) if len(part) >= LONG)
    if isinstance(value, str):
        inner = structure(text)
        yield from secrets_in(name, inner, hidden) if inner is not None else _in_text(text)


def _in_text(text: str) -> Iterator[str]:
    for user in user_infos(text):
        _, colon, password = user.partition(":")
        yield from filter(None, (password, unquote(password)) if colon else (user, unquote(user)))
    for name, value in [*_PAIR.findall(text), *_HEADER.findall(text)]:
        if is_secret(name) and value.strip("\"'").lower() not in _NOTHING:
            inner = _literal(value)
            yield from (value, unquote_plus(value)) if not isinstance(inner, str) else (value[1:-1], inner)


def pairs_of(name: str, value: object) -> list[tuple[str, object]]:
    """Return what a table or a list holds, each with the name that it stands under; a list of two may be a pair too."""
    if isinstance(value, Mapping):
        return [(str(key), one) for key, one in value.items()]
    found: list[Any] = list(value)  # type: ignore[call-overload]
    if len(found) == 2 and isinstance(found[0], str) and is_secret(found[0]):
        return [(name, found[0]), (found[0], found[1])] if not is_secret(name) else [(name, one) for one in found]
    return [(name, one) for one in found]


def structure(text: str) -> Any:
    """Return the table or list that a text of JSON or Python stands for, or ``None``."""
    if text.strip()[:1] not in tuple("{[("):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = _literal(text)
    return found if isinstance(found, (Mapping, list, tuple)) else None


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def user_infos(text: str) -> Iterator[str]:
    """Yield what stands before the host in the URLs of a setting; it may hold the characters that end a host."""
    for url in _NEXT_URL.split(text):
        if not (scheme := _SCHEME.search(url)):
            continue
        rest = url[scheme.end() :]
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        host, colon, port = authority.partition(":")
        if "@" not in authority and "@" in rest and colon and not port.isdigit() and "[" not in host:
            authority = rest  # a password that nobody quoted
        user, at, _ = authority.rpartition("@")
        if at and user.strip(":") and not user.endswith(f":{MADE}") and (":" in user or not re.search(r"\s", user)):
            yield user


# --- In texts --------------------------------------------------------------------------------------------------------


@cache
def _own_text() -> str:
    """Return the texts of the kit, which reports and scripts may quote."""
    here = Path(__file__).parents[1]
    return "\n".join(file.read_text("utf-8") for end in ("py", "toml") for file in sorted(here.rglob(f"*.{end}")))


def is_part(value: str, said: str) -> bool:
    """Whether a value may be a part of words that reports contain anyway.

    Args:
        said: what a report says besides the texts of the kit.
    """
    return len(value) < SHORTEST or value in _own_text() or value in said


def is_ordinary(value: str, said: str) -> bool:
    """Whether a value is a word that reports contain anyway, so that nobody could tell whether the word is the secret."""
    if not value.strip("*").strip() or (value.isdigit() and len(value) < 5):
        return True
    pattern = re.compile(whole(re.escape(value), value))
    return bool(pattern.search(said) or (value in _own_text() and pattern.search(_own_text())))


def written(value: str) -> str:
    """Return a pattern of a value: as it is, escaped as often as you like, or quoted for a URL or a page."""
    return "".join(map(_character, value))


def cut_off(value: str) -> str:
    """Return a pattern of the beginning of a value, at the end of a text that was cut off."""
    first, later = map(list, (map(_character, value[:SHORTEST]), map(_character, value[SHORTEST:_CUT])))
    beginning = "".join(first) + "".join(f"(?:{one}" for one in later) + "[^\\n]*?" * (len(value) > _CUT) + ")?" * len(later)
    return rf"{beginning}(?={SLASH}*[\"']?\.\.\.)"


def whole(pattern: str, value: str) -> str:
    """Return a pattern of a value that stands by itself; the letter of an escape belongs to the character before it."""
    before = r"(?:(?<!\w)|(?<=\\[abfnrtv])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9a-f]{2})|(?<=\\u[0-9a-f]{4}))"
    return (before if _is_letter(value[:1]) else "") + pattern + (r"(?!\w)" if _is_letter(value[-1:]) else "")


def _is_letter(text: str) -> bool:
    return re.match(r"\w", text) is not None


@cache
def _character(one: str) -> str:
    """Return a pattern of a character as a text may write it."""
    if one.isascii() and one.isalnum():
        return one
    data = one.encode("utf-8", "surrogatepass")
    wide = one.encode("utf-16-be", "surrogatepass").hex()
    ways = [re.escape(one), "".join(f"%(?i:{byte:02x})" for byte in data), re.escape(html.escape(one))]
    if one == "\\":
        ways = [f"{SLASH}+"]
    elif one.isspace():
        ways += [r"\s+", r"\+", *([f"{SLASH}+{re.escape(repr(one)[2:-1])}"] if repr(one)[1] == "\\" else [])]
    if not (one.isascii() and one.isprintable()):
        ways += [f"{SLASH}+(?i:x{ord(one):02x})", f"{SLASH}+(?i:u{ord(one):08x})"]
        ways += ["".join(f"{SLASH}+(?i:x{byte:02x})" for byte in data)]
        ways += ["".join(f"{SLASH}+(?i:u{wide[at : at + 4]})" for at in range(0, len(wide), 4))]
    pattern = f"(?:{'|'.join(dict.fromkeys(ways))})"
    return f"{SLASH}*{pattern}" if one in "\"'" else pattern


def encoded(value: str) -> set[str]:
    """Return a value in hexadecimal and base64; of base64 amid other bytes, the characters that depend on the value alone."""
    raw = value.encode("utf-8", "surrogatepass")
    found = {raw.hex(), raw.hex().upper()}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        found |= {encode(raw).decode(), encode(raw).decode().rstrip("=")}
        found |= {encode(bytes(lead) + raw).decode()[(0, 2, 3)[lead] : (lead + len(raw)) * 8 // 6] for lead in range(3)}
    return {one for one in found if len(one) >= LONG}

"""Shell scripts that make two environments from nothing, and show what becomes of what one of them stores in the other."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from queue_conformance.config.options import CRAWL_OPTION
from queue_conformance.config.targets import Target
from queue_conformance.upgrades.environments import GIVEN, Environment
from queue_conformance.upgrades.installed import KIT, installed_kit

if TYPE_CHECKING:
    from queue_conformance.upgrades.upgrade import Passage

SCRIPT = """\
#!/bin/sh
# {path}: {way}
{said}
# The exit status is 1 as long as something is lost, misread or crawled again.
set -e
there={there}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
environment() {{ # NAME INTERPRETER REQUIREMENT...
    "$2" -m venv "$here/$1"
    python="$here/$1/bin/python"
    shift 2
    "$python" -m pip install --quiet "$@"
}}
{environments}
{keep}
{kept}
"""


def write(where: Path, target: Target, passage: Passage) -> str:
    """Write the script of a passage; return its path.

    Args:
        where: a directory, which is made if it is not there.
        target: the class.
        passage: what became of what was kept.
    """
    where.mkdir(parents=True, exist_ok=True)
    file = where / f"{passage.way}.sh"
    names = {"written-by": passage.writer, "read-by": passage.reader}
    settings = [f"--queue-setting={name}={value}" for name, value in target.settings.items()]
    claims = [f"--conformance-claim={name}={value}" for name, value in target.claims.items()]
    named = [f"--{target.option}={target.path}"]
    if target.option == CRAWL_OPTION:
        named = [f"--{CRAWL_OPTION}", *([f"--spider={target.path}"] if target.path else [])]
    keep = shlex.join([*named, *settings, *claims])
    script = SCRIPT.format(
        path=target.name,
        way=f"{passage.way}, written by {passage.writer.given}, read by {passage.reader.given}",
        said="\n".join(f"#   {line}" for line in passage.lines()),
        there=_there(where),
        environments="\n".join(_made(name, one, target.path) for name, one in names.items()),
        keep=_called("written-by", passage.writer, f'keep "$here/kept" {keep}'),
        kept=_called("read-by", passage.reader, 'kept "$here/kept"'),
    )
    file.write_text(script, "utf-8")
    return str(file)


def _there(where: Path) -> str:
    """Return the word for the directory where the command is run: from that of the script, if this is below it."""
    run_in, where = Path.cwd(), where.resolve()
    if not where.is_relative_to(run_in):
        return shlex.quote(str(run_in))
    up = "/.." * len(where.relative_to(run_in).parts)
    return f'$(CDPATH= cd -P -- "$(dirname -- "$0")"{up} && pwd)'


def _made(name: str, one: Environment, path: str) -> str:
    """Return the line that makes an environment: with the class, the libraries, what they need, and the kit."""
    listing = one.listing
    own = {*map(canonicalize_name, listing.modules.get(path.partition(".")[0], ()))}
    names = [*GIVEN, *own] if own else listing.by_name  # nobody knows what a class needs that no distribution has
    left = {KIT, *(own if one.checkout else ())}
    pins = [each.requirement for each in listing.needed_by(names) if canonicalize_name(each.name) not in left]
    words = [shlex.quote(word) for word in (*pins, installed_kit().requirement)]
    return f"environment {name} python{'.'.join(map(str, listing.python))} \\\n    " + " \\\n    ".join(words)


def _called(name: str, one: Environment, arguments: str) -> str:
    """Return what runs the kit in an environment, in the directory where the class is found."""
    command = f'"$here/{name}/bin/queue-conformance" {arguments}'
    if not (checkout := one.checkout):
        return f'(cd "$there" && {command})'
    top = "/.." * len(Path(checkout.place).parts)  # where git archive takes the whole tree
    unpack = f'git -C "$there"{top} archive {checkout.commit} | tar -x -C "$here/{name}-tree"'
    path = [f"$here/{name}-tree/{place.relative_to(checkout.tree)}" for place in checkout.path]
    return f'mkdir "$here/{name}-tree"\n{unpack}\n(cd "{path[-1]}" && PYTHONPATH="{":".join(path)}" {command})'

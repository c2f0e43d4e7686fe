"""The options as pages: a table, a section each, and what else the table of pyproject.toml may hold."""

from __future__ import annotations

from collections.abc import Iterator

from parts.words import CLAIMS, cell, escape
from queue_conformance.config import options
from queue_conformance.config.options import OPTIONS
from queue_conformance.config.values import Option
from queue_conformance.implementation import capabilities
from queue_conformance.specification.words import CAPABILITIES, listed


def table() -> str:
    """Return one row per option."""
    lines = ["| option | meaning |", "|---|---|"]
    lines += [f"| [`{cell(_usage(option))}`](#--{option.name}) | {cell(escape(option.help))} |" for option in OPTIONS]
    return "\n".join(lines)


def sections() -> str:
    """Return one section per option."""
    return "\n".join(line for option in OPTIONS for line in _section(option))


def keys() -> str:
    """Return the keys of a table that describes one implementation."""
    by_name = {option.name: option for option in OPTIONS}
    lines = ["| key | meaning | where it is not given |", "|---|---|---|"]
    for name in options.CLASS_OPTIONS:
        lines.append(f"| `{name}` | {cell(escape(by_name[name].help))} | one class is needed |")
    for key, name in options.DESCRIBING.items():
        lines.append(f"| `{key}` | {cell(escape(by_name[name].help))} | what `{name}` says |")
    lines.append("| `profile` | the contract that it is held to, as the claim `profile=…` | told from the class |")
    return "\n".join(lines)


def claims() -> str:
    """Return what may be claimed."""
    lines = ["| claim | values | meaning |", "|---|---|---|"]
    for name in capabilities.CLAIMS:
        values = listed((f"`{value}`" for value in capabilities.ALLOWED.get(name, ())), "or")
        if name in (*capabilities.ERRORS, *capabilities.CLASSES):
            values = "a dotted path"
        elif name == "kind":
            values = "a [kind](kinds.md)"
        lines.append(f"| `{name}` | {values} | {cell({**CAPABILITIES, **CLAIMS}[name].removeprefix('it is claimed that '))} |")
    return "\n".join(lines)


def _usage(option: Option) -> str:
    return f"--{option.name}" + (f"={option.metavar}" if option.metavar else "")


def _section(option: Option) -> Iterator[str]:
    yield f"## `--{option.name}`\n"
    yield f"`{_usage(option)}`: {escape(option.help).removesuffix('.')}.\n"
    if option.repeats:
        yield "It may be given several times.\n"
    if option.name in options.OF_A_RUN:
        yield "It is for the command line only.\n"
    elif option.repeats:
        yield f"In pyproject.toml: `{option.name}`, a list.\n"
    else:
        yield f"In pyproject.toml: `{option.name}`.\n"

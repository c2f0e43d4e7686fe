"""Schemas of what the guides show in YAML: the keys that they use, each with the type of its value, and no other.

A key that is new in a guide is added here, as https://docs.docker.com/reference/compose-file and
https://kubernetes.io/docs/reference/kubernetes-api have it.
"""

from __future__ import annotations

from typing import Any

TEXT = {"type": "string"}
NUMBER = {"type": "integer", "minimum": 0}


def record(*required: str, **known: Any) -> dict[str, Any]:
    """Return the schema of a table with these keys and no others.

    Args:
        required: the keys that it must have.
        known: what each key holds.
    """
    return {"type": "object", "properties": known, "required": [*required], "additionalProperties": False}


def array(items: Any) -> dict[str, Any]:
    """Return the schema of a list of such items, of which there is one at least."""
    return {"type": "array", "items": items, "minItems": 1}


def table(values: Any) -> dict[str, Any]:
    """Return the schema of a table with any keys, and such values."""
    return {"type": "object", "additionalProperties": values}


_SERVICE = record(
    "image",
    image=TEXT,
    command={"anyOf": [TEXT, array(TEXT)]},
    deploy=record(replicas=NUMBER),
    environment=table(TEXT),
    volumes=array(TEXT),
)
COMPOSE = record("services", services=table(_SERVICE), volumes=table({"type": "null"}))

_LABELS = table(TEXT)
_CONTAINER = record(
    "name",
    name=TEXT,
    image=TEXT,
    command=array(TEXT),
    env=array(record("name", name=TEXT, value=TEXT)),
    volumeMounts=array(record("name", "mountPath", name=TEXT, mountPath=TEXT)),
)
_VOLUME = record("name", name=TEXT, secret=record(secretName=TEXT))
_POD = record(
    "metadata",
    "spec",
    metadata=record("labels", labels=_LABELS),
    spec=record("containers", containers=array(_CONTAINER), volumes=array(_VOLUME)),
)
DEPLOYMENT = record(
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    apiVersion={"const": "apps/v1"},
    kind={"const": "Deployment"},
    metadata=record("name", name=TEXT),
    spec=record("selector", "template", replicas=NUMBER, selector=record("matchLabels", matchLabels=_LABELS), template=_POD),
)

"""The manifest: which files of a folder are Ullage's, and what they were made from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Final

MANIFEST: Final = "ullage.json"

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def render(files: Mapping[str, bytes], provenance: Mapping[str, str]) -> bytes:
    """The manifest of `files`: the same bytes on every machine."""
    document = {
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        "provenance": dict(provenance),
    }
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def listed(data: bytes) -> frozenset[str]:
    """The paths that a manifest lists; ValueError says why it is none."""
    try:
        document: object = json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        raise ValueError("it is not JSON") from error
    files: object = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, dict):
        raise ValueError("it has no 'files'")
    wrong = [name for name, digest in files.items() if not _is_digest(digest)]
    if wrong:
        raise ValueError(f"it has no sha256 for {wrong[0]!a}")
    return frozenset(files)


def _is_digest(digest: object) -> bool:
    return isinstance(digest, str) and _SHA256.fullmatch(digest) is not None

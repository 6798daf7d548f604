"""Templates filled in. They are compiled once, and kept where Python keeps compiled modules."""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from types import CodeType
from typing import Final

import jinja2
from jinja2.bccache import Bucket, bc_magic

_TEMPLATES: Final = Path(__file__).parent / "templates"
_TRIMMED: Final = True
"""Whether lines that hold nothing but a block leave nothing behind."""


class CompiledTemplates(jinja2.BytecodeCache):
    """Compiled templates beside their sources, in files of their own for each version of Python.

    As with modules, nothing is kept where nothing can be written or nobody wants it
    (`PYTHONDONTWRITEBYTECODE`), and whatever is damaged or stale is made anew.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        return name

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError, EOFError, ValueError, TypeError):
            data = _kept_at(bucket).read_bytes()
            key = _key(bucket)
            code: object = marshal.loads(data[len(key) :]) if data.startswith(key) else None
            if isinstance(code, CodeType):
                bucket.code = code

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode or bucket.code is None:
            return
        path = _kept_at(bucket)
        aside = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            aside.write_bytes(_key(bucket) + marshal.dumps(bucket.code))
            aside.replace(path)
        with suppress(OSError):  # what could not be put in place
            aside.unlink(missing_ok=True)


def _kept_at(bucket: Bucket) -> Path:
    return Path(cache_from_source(str(_TEMPLATES / bucket.key)))


def _key(bucket: Bucket) -> bytes:
    """What the code follows from: the source, what compiles it, and the rules for blanks."""
    parts = (bucket.checksum.encode(), bc_magic, sys.version.encode(), str(_TRIMMED).encode())
    return hashlib.sha256(b"\0".join(parts)).digest()


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=_TRIMMED,
        lstrip_blocks=_TRIMMED,
        keep_trailing_newline=True,
        bytecode_cache=CompiledTemplates(),
    )


def render(template: str, **values: object) -> str:
    """A template filled in. Raises jinja2.UndefinedError for a value that is missing."""
    return _environment().get_template(template).render(**values)

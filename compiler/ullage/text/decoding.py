"""The bytes of spec files as text, without a thought for what the text means."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.place import Place
from ullage.text.characters import FORBIDDEN, refusal
from ullage.text.positions import Source

MAX_BYTES: Final = 2**20


def read_bytes(path: Path, name: str, collector: Collector) -> bytes | None:
    """At most one byte more than the limit; records an error and answers None if unreadable."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        collector.error("U904", f"the file cannot be read: {reason}", Place(name, 1, 1))
        return None


def decode(data: bytes, name: str, collector: Collector) -> str | None:
    """The text of a file with `\\n` line ends and without a byte order mark.

    Records an error and answers None if the bytes are too many or not UTF-8; characters that
    are not allowed are errors too, all of them. The collector keeps the text for code frames.
    """
    if len(data) > MAX_BYTES:
        collector.error("U102", f"the file is larger than {MAX_BYTES} bytes", Place(name, 1, 1))
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        _report_encoding(data, error, name, collector)
        return None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    collector.add_source(name, text)
    source = Source(name, text)
    found = list(FORBIDDEN.finditer(text))
    for match in found:
        collector.error("U103", refusal(match[0]), source.place(match.start()))
    return None if found else text


def _report_encoding(
    data: bytes, error: UnicodeDecodeError, name: str, collector: Collector
) -> None:
    before = data[: error.start].decode("utf-8", errors="replace").removeprefix("\ufeff")
    source = Source(name, before.replace("\r\n", "\n").replace("\r", "\n"))
    message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
    collector.error("U101", message, source.place(len(source.text)), hint="save it as UTF-8")

"""What the template of `config` is filled with."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.emit.text import literal


@dataclass(frozen=True, slots=True)
class EnumView:
    """One enum: its class, and members with their values."""

    place: str
    name: str
    doc: str
    members: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FieldView:
    """One parameter as a field; `default` is what stands behind its annotation."""

    place: str
    name: str
    annotation: str
    default: str
    doc: str


@dataclass(frozen=True, slots=True)
class ArgumentView:
    """One argument of `Config.of`; `fill` are the lines that give it a value if it has none."""

    name: str
    key: str
    annotation: str
    default: str
    kind: str
    place: str
    fill: tuple[str, ...]
    required: bool = False
    base: str = ""
    worker: str | None = None

    @property
    def keyword(self) -> str:
        """What else is to be said of the argument."""
        text = "" if self.key == literal(self.name) else f", keyword={literal(self.name)}"
        if self.required:
            text += ", required=True"
        if self.worker is not None:
            text += f", base={literal(self.base)}, worker={literal(self.worker)}"
        return text


@dataclass(frozen=True, slots=True)
class CheckView:
    """One check of `validate`, made where `condition` holds; `otherwise` where `guard` fails."""

    condition: str
    guard: str
    call: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class PropertyView:
    """One definition."""

    place: str
    name: str
    annotation: str
    doc: str
    unless: str
    value: str

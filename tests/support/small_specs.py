"""Specs of a few lines: two axes without units, one worker, one runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import dedent, indent

from support.specs import Files

SLOT = "ids: {shape: [requests], dtype: int64, source: batch.ids}"


def small(
    *modes: str,
    parameters: Sequence[str] = ("cap: {type: int, range: [1, 4]}",),
    definitions: Sequence[str] = (),
    constraints: Sequence[str] = (),
    transforms: Sequence[str] = (),
    slots: Sequence[str] = (SLOT,),
    ranks: str = "",
    workers: Sequence[str] = ("target: {doc: the served model}",),
    serves: str = "all",
    slack: str = "",
    axes: Sequence[str] = (),
    pipeline: str = "",
) -> Files:
    """The files of a spec; each mode is the text of its file, which may be indented.

    `axes`: further ones; `pipeline`: that of the runner.
    """
    engine = "ullage: 1\nengine: small\n"
    engine += _section("axes", ("requests: {}", "tokens: {}", *axes))
    engine += _section("workers", workers) + _section("parameters", parameters)
    engine += _section("definitions", definitions) + _section("transforms", transforms)
    engine += _section("constraints", [f"- {{that: {each}, else: so}}" for each in constraints])
    engine += f"ranks: {ranks}\n" if ranks else ""
    names = ", ".join(each.split(":")[0] for each in workers)
    runner = f"runner: eager\nworkers: [{names}]\nmodes: {serves}\nslots: all\n"
    runner += f"pipeline: {pipeline}\n" if pipeline else ""
    runner += "steps:\n  - {do: load}\n" + (f"slack: {{{slack}}}\n" if slack else "")
    files = {"engine.yaml": engine + _section("slots", slots), "eager.yaml": runner}
    return files | {f"mode_{place}.yaml": dedent(text) for place, text in enumerate(modes)}


def _section(name: str, entries: Sequence[str]) -> str:
    if not entries:
        return ""
    return f"{name}:\n" + "".join(indent(dedent(each).strip(), "  ") + "\n" for each in entries)


def mode_text(
    name: str = "decode",
    *,
    live: Mapping[str, str],
    requests: str,
    tokens: str,
    where: Sequence[str] = (),
    pipeline: Sequence[str] = (),
    peers: Sequence[str] | None = None,
    when: str = "",
    **axes: str,
) -> str:
    """The file of one mode; the range of a live variable is `low, high` or `per x: low, high`."""
    text = f"mode: {name}\n" + (f"when: {when}\n" if when else "")
    text += "live:\n" if live else "live: {}\n"
    text += "".join(f"  {each}: {_live(bounds, each)}\n" for each, bounds in live.items())
    if where:
        text += "  where:\n" + "".join(f'    - "{each}"\n' for each in where)
    extents = {"requests": requests, "tokens": tokens, **axes}
    listed = ", ".join(f'{name}: "{each}"' for name, each in extents.items())
    text += f"axes: {{{listed}}}\n"
    if pipeline:
        text += "pipeline:\n" + "".join(f"  - {each}\n" for each in pipeline)
    return text + ("" if peers is None else f"peers: [{', '.join(peers)}]\n")


def _live(bounds: str, name: str) -> str:
    per, _, ends = bounds.rpartition(":")
    counted = f"{per.replace('per ', 'per: ')}, " if per else ""
    low, high = ends.split(";")
    return f'{{{counted}range: ["{low.strip()}", "{high.strip()}"], seen_in: batch.{name}}}'

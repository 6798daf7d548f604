"""Loading an audit: an engine's own formulas beside the derived capacities."""

from __future__ import annotations

from collections.abc import Mapping

from ullage.spec import former_keys, problems
from ullage.spec.model import Runner
from ullage.spec.reading import Reading
from ullage.spec.references import report_unknown
from ullage.spec.stated import Audit, StatedFormula
from ullage.text.fields import Fields, as_scalar, check_choice, check_identifier
from ullage.text.nodes import Entry, Node, Scalar
from ullage.text.nodes import Mapping as MappingNode

VERDICTS = ("proved", "overflows", "wastes")
OTHERWISE = "else"


def load_audit(
    reading: Reading, name: Scalar, fields: Fields, runners: Mapping[str, Runner]
) -> Audit:
    """The audit that one file declares; a formula without a worker is one for each worker."""
    nodes = fields.items("formulas", required=True)
    if not nodes and "formulas" in fields:
        message = f"{fields.what} states no formula"
        reading.collector.error(problems.WRONG_COUNT, message, fields.place("formulas"))
    audit = Audit(
        name=name.text,
        quoted_from=fields.text("quoted_from", required=True) or "",
        let=reading.named(fields, "let"),
        formulas=tuple(formula for node in nodes for formula in _formulas(reading, node, runners)),
        doc=fields.text("doc", default=""),
        place=name.place,
    )
    fields.finish(former_keys.AUDIT)
    return audit


def _formulas(
    reading: Reading, node: Node, runners: Mapping[str, Runner]
) -> tuple[StatedFormula, ...]:
    fields = reading.fields(node, "a formula")
    if fields is None:
        return ()
    runner = fields.identifier("runner", required=True)
    target = _target(reading, fields)
    worker = fields.identifier("worker")
    when = reading.when(fields)
    formula = reading.required(fields, "formula")
    expect = _expect(reading, fields)
    fields.finish()
    workers = _workers(reading, fields, runners, runner, worker)
    return tuple(
        StatedFormula(runner or "", each, target, formula, expect, fields.place("formula"), when)
        for each in workers
    )


def _target(reading: Reading, fields: Fields) -> str:
    axis, slot = reading.name(fields, "axis", "axis"), reading.name(fields, "slot", "slot")
    if ("axis" in fields) == ("slot" in fields):
        found = "both" if "slot" in fields else "neither"
        message = f"a formula is about one 'axis' or one 'slot', found {found}"
        both = "slot" in fields
        place = fields.key_place("slot") if both else fields.node.place
        related = ((fields.key_place("axis"), "'axis'"),) if both else ()
        reading.collector.error(problems.CONTRADICTING_KEYS, message, place, related=related)
    return axis or slot or ""


def _workers(
    reading: Reading,
    fields: Fields,
    runners: Mapping[str, Runner],
    runner: str | None,
    worker: str | None,
) -> tuple[str, ...]:
    if runner is None:
        return ()
    if runner not in runners:
        what, place = f"runner '{runner}'", fields.place("runner")
        report_unknown(reading.collector, what, runner, runners, place)
        return ()
    known = runners[runner].workers
    if worker is not None and worker not in known:
        what = f"worker '{worker}' of runner '{runner}'"
        report_unknown(reading.collector, what, worker, known, fields.place("worker"))
        return ()
    return known if worker is None else (worker,)


def _expect(reading: Reading, fields: Fields) -> tuple[tuple[str, str], ...]:
    """Verdicts by mode; the key `else` is for all modes that are not named."""
    node = fields.raw("expect", required=True)
    if isinstance(node, MappingNode):
        found = (_verdict(reading, entry) for entry in node.entries)
        return tuple(pair for pair in found if pair is not None)
    verdict = fields.choice("expect", VERDICTS)
    return ((OTHERWISE, verdict or "proved"),)


def _verdict(reading: Reading, entry: Entry) -> tuple[str, str] | None:
    collector, mode = reading.collector, entry.key
    if mode.text != OTHERWISE and not check_identifier(mode, collector, "a mode in 'expect'"):
        return None
    what = f"the verdict on '{mode.text}'"
    scalar = as_scalar(entry.value, collector, what)
    if scalar is None or not check_choice(scalar, VERDICTS, collector, what):
        return None
    if mode.text != OTHERWISE:
        reading.refer("mode", mode)
    return mode.text, scalar.text

"""Loading a spec folder: every file read into one `Spec`, with all errors of the run.

A file's kind is told by its top-level keys: `mode`, `runner` and `audit` mark a file about one of
those; every other file belongs to the library, whose sections may be spread over several files.
"""

from __future__ import annotations

from ullage.diagnostics.diagnostic import Collector
from ullage.spec import problems
from ullage.spec.library import EntityFile, Folder, sort_files
from ullage.spec.load_audits import load_audit
from ullage.spec.load_concurrent import load_concurrent
from ullage.spec.load_groups import load_groups, names_by_group
from ullage.spec.load_modes import load_mode
from ullage.spec.load_parameters import (
    load_axes,
    load_constraints,
    load_definitions,
    load_parameters,
    load_workers,
)
from ullage.spec.load_runners import load_runner
from ullage.spec.load_slots import load_carried, load_readers, load_slots
from ullage.spec.load_transforms import load_transforms
from ullage.spec.load_wrappers import load_wrappers
from ullage.spec.model import LANGUAGE_VERSION, Runner, Spec
from ullage.spec.reading import Reading
from ullage.spec.stated import Audit
from ullage.text.fields import Fields
from ullage.text.nodes import Scalar
from ullage.text.sources import SourceSet
from ullage.text.values import parse_integer


def load_spec(sources: SourceSet) -> Spec:
    """The spec that the files of a folder make together.

    Raises DiagnosticError with everything that is wrong with the files one by one; names are
    looked up later, by `ullage.spec.check.resolve`.
    """
    collector = Collector(sources.texts)
    reading = Reading(collector)
    folder = sort_files(sources, collector)
    _check_version(folder, sources)
    spec = _load(reading, folder, sources.digest)
    collector.raise_if_errors()
    return spec


def _load(reading: Reading, folder: Folder, digest: str) -> Spec:
    library = Fields(folder.library, reading.collector, "the spec")
    library.integer("ullage", required=True, low=1)
    groups = load_groups(reading, library)
    reading.enter_groups(names_by_group(groups))
    slots = (*load_slots(reading, library), *(slot for each in groups for slot in each.slots))
    modes = tuple(
        load_mode(reading, file.name, _fields(reading, file)) for file in folder.of_kind("mode")
    )
    runners = _runners(reading, folder)
    spec = Spec(
        engine=library.identifier("engine", required=True, default=""),
        doc=library.text("doc", default=""),
        digest=digest,
        rank_count=reading.of(library, "ranks"),
        axes=load_axes(reading, library),
        workers=load_workers(reading, library),
        families=reading.texts(library, "families"),
        parameters=load_parameters(reading, library),
        constraints=load_constraints(reading, library),
        definitions=load_definitions(reading, library),
        transforms=load_transforms(reading, library),
        slots=slots,
        carried=load_carried(reading, library),
        readers=load_readers(reading, library, slots),
        modes=modes,
        runners=runners,
        concurrent=load_concurrent(reading, library),
        wrappers=load_wrappers(reading, library, slots),
        audits=_audits(reading, folder, runners),
        place=library.place("engine"),
        references=reading.references,
        groups=tuple(each.name.text for each in groups),
    )
    library.finish()
    return spec


def _fields(reading: Reading, file: EntityFile) -> Fields:
    fields = Fields(file.mapping, reading.collector, f"{file.kind} '{file.name.text}'")
    fields.raw(file.kind)
    return fields


def _runners(reading: Reading, folder: Folder) -> tuple[Runner, ...]:
    return tuple(
        load_runner(reading, file.name, _fields(reading, file)) for file in folder.of_kind("runner")
    )


def _audits(reading: Reading, folder: Folder, runners: tuple[Runner, ...]) -> tuple[Audit, ...]:
    if "runner" in folder.unnamed:  # the formulas may be about what is left out
        return ()
    known = {runner.name: runner for runner in runners}
    return tuple(
        load_audit(reading, file.name, _fields(reading, file), known)
        for file in folder.of_kind("audit")
    )


def _check_version(folder: Folder, sources: SourceSet) -> None:
    """Raise if the spec is for a later version, of which nothing else can be said."""
    version = folder.library.get("ullage")
    number = parse_integer(version.text) if isinstance(version, Scalar) else None
    if version is not None and number is not None and number > LANGUAGE_VERSION:
        message = (
            f"the spec is for version {number} of the language, "
            f"and this compiler knows versions up to {LANGUAGE_VERSION}"
        )
        hint = "install a newer compiler"
        later = Collector(sources.texts)
        later.error(problems.OTHER_LANGUAGE, message, version.place, hint=hint)
        later.raise_if_errors()

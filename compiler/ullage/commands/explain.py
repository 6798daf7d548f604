"""`ullage explain`: where a capacity comes from, step by step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.commands import explain_record, explain_slot, explain_target, explain_wrapper
from ullage.commands.progress import progress
from ullage.commands.reporting import Exit, Format, Json, write_diagnostics, write_json
from ullage.commands.settings import Settings, read_settings, require_accepted
from ullage.commands.subjects import (
    SlotSubject,
    Subject,
    TargetSubject,
    WrapperSubject,
    subject_of,
)
from ullage.commands.terminal import Page, result_console
from ullage.memory import memory_of


def run(
    specs: Path, name: str, configuration: Path | None, modes: Sequence[str], output: Format
) -> Exit:
    """Show one axis, slot or wrapper; with a configuration, in numbers too.

    `modes`: the modes and families of which an axis is shown only; none for all.
    """
    settings = None
    if configuration is not None:  # before the long part, so that its errors come at once
        settings = read_settings(specs, configuration)
    with progress(output is Format.TEXT) as report:
        analysis = analyse(specs, report, memory=memory_of(os.environ))
    if settings is not None:
        require_accepted(settings, analysis)
    subject = subject_of(analysis, name, modes)
    if output is Format.JSON:
        write_json(_document(analysis, subject, settings))
        return Exit.OK
    page = Page(result_console())
    match subject:
        case TargetSubject():
            explain_target.show(analysis, subject, settings, page)
        case SlotSubject():
            explain_slot.show(analysis, subject, settings, page)
        case WrapperSubject():
            explain_wrapper.show(analysis, subject, settings, page)
    write_diagnostics(analysis.warnings, analysis.sources.texts, output)
    return Exit.OK


def _document(analysis: Analysis, subject: Subject, settings: Settings | None) -> Json:
    match subject:
        case TargetSubject():
            return explain_record.document(analysis, subject, settings)
        case SlotSubject():
            return explain_slot.document(analysis, subject, settings)
        case WrapperSubject():
            return explain_wrapper.document(analysis, subject, settings)

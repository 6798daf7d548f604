"""`ullage explain`: where a capacity comes from, step by step."""

from __future__ import annotations

import os
from pathlib import Path

from ullage.analyse import analyse
from ullage.commands import explain_record, explain_slot, explain_target
from ullage.commands.reporting import Exit, Format, write_diagnostics, write_json
from ullage.commands.settings import read_settings, require_accepted
from ullage.commands.subjects import TargetSubject, subject_of
from ullage.commands.terminal import Page, progress, result_console
from ullage.memory import memory_of


def run(specs: Path, name: str, configuration: Path | None, output: Format) -> Exit:
    """Show the derivation of one axis or slot; with a configuration, in numbers too."""
    settings = None
    if configuration is not None:  # before the long part, so that its errors come at once
        settings = read_settings(specs, configuration)
    with progress(output is Format.TEXT) as report:
        analysis = analyse(specs, report, memory=memory_of(os.environ))
    if settings is not None:
        require_accepted(settings, analysis)
    subject = subject_of(analysis, name)
    if output is Format.JSON:
        if isinstance(subject, TargetSubject):
            write_json(explain_record.document(analysis, subject, settings))
        else:
            write_json(explain_slot.document(analysis, subject, settings))
        return Exit.OK
    page = Page(result_console())
    if isinstance(subject, TargetSubject):
        explain_target.show(analysis, subject, settings, page)
    else:
        explain_slot.show(analysis, subject, settings, page)
    write_diagnostics(analysis.warnings, analysis.sources.texts, output)
    return Exit.OK

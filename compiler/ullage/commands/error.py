"""`ullage error`: what the codes of diagnostics mean."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap

from ullage.commands.formulas import INDENT
from ullage.commands.reporting import Exit, Format, Json, UsageError, write_json
from ullage.commands.terminal import Page, result_console
from ullage.diagnostics.catalogue import all_codes, code, group_of
from ullage.diagnostics.entry import Code


def run(identifier: str | None, output: Format) -> Exit:
    """Explain one code, or list all of them."""
    codes = all_codes() if identifier is None else (_found(identifier),)
    if output is Format.JSON:
        write_json([_record(entry) for entry in codes])
        return Exit.OK
    page = Page(result_console())
    if identifier is None:
        _show_all(page)
    else:
        _show(codes[0], page)
    return Exit.OK


def _found(identifier: str) -> Code:
    try:
        return code(identifier.upper())
    except KeyError:
        message = f"there is no code '{identifier}'; 'ullage error' lists all codes"
        raise UsageError(message) from None


def _show(entry: Code, page: Page) -> None:
    page.line((entry.id, "bold red"), f"  {entry.title}", ("  " + group_of(entry.id), "dim"))
    page.line()
    page.lines(wrap(entry.meaning, page.width))
    page.line()
    page.line("example")
    page.lines(entry.example.split("\n"), indent=len(INDENT), style="cyan")
    page.line()
    page.line("remedy")
    page.lines(wrap(entry.remedy, page.width - len(INDENT)), indent=len(INDENT))


def _show_all(page: Page) -> None:
    for position, (group, codes) in enumerate(groupby(all_codes(), lambda each: group_of(each.id))):
        if position:
            page.line()
        page.line((group, "bold"))
        for entry in codes:
            page.line((entry.id, "cyan"), f"  {entry.title}", indent=2)


def _record(entry: Code) -> Json:
    return {
        "code": entry.id,
        "title": entry.title,
        "group": group_of(entry.id),
        "meaning": entry.meaning,
        "example": entry.example,
        "remedy": entry.remedy,
    }

"""The command line: what each command takes. What it does is loaded when it is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ullage import __version__
from ullage.commands.build_kernels import Device
from ullage.commands.reporting import Exit, Format, guarded

ABOUT = (
    "Derives, proves and generates the static input buffers of LLM-serving engines.\n\n"
    "Exit codes: 0 nothing found; 1 errors in a spec or configuration, drift, or an audit that "
    "comes out otherwise than expected; 2 usage, or files that cannot be read or written; "
    "130 interrupted."
)

app = typer.Typer(
    name="ullage",
    help=ABOUT,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # as plain as what pipes and narrow terminals take
    pretty_exceptions_enable=False,
)

Specs = Annotated[Path, typer.Argument(metavar="SPECS", help="Folder with the spec files.")]
Output = Annotated[Format, typer.Option("--format", help="How to write what is found.")]
AsJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
CONFIG_HELP = "YAML or JSON file with parameters by the engine's own names."


def _format(output: Format, as_json: bool) -> Format:
    return Format.JSON if as_json else output


def _finish(action: Callable[[], Exit], output: Format) -> NoReturn:
    raise typer.Exit(guarded(action, output))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ullage {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT)
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """What stands before a command; `--version` is answered by its own callback."""


@app.command(short_help="Every capacity, and what is proved of it.")
def check(specs: Specs, output: Output = Format.TEXT, as_json: AsJson = False) -> None:
    """Show every capacity: its formula, the modes that bind it, and what is proved of it."""
    from ullage.commands import check as command

    chosen = _format(output, as_json)
    _finish(lambda: command.run(specs, chosen), chosen)


@app.command(name="compile", short_help="Generate the code of an engine.")
def compile_specs(
    specs: Specs,
    out: Annotated[Path, typer.Option("--out", help="Folder of the generated packages.")],
    check_only: Annotated[
        bool, typer.Option("--check", help="Write nothing; show what differs and fail if it does.")
    ] = False,
    allow_unproven: Annotated[
        bool, typer.Option("--allow-unproven", help="Generate unproven capacities, marked so.")
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither use nor keep earlier results.")
    ] = False,
    output: Output = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Generate the code of an engine into OUT, and say what changed."""
    from ullage.commands import compile as command

    chosen = _format(output, as_json)
    request = command.Request(specs, out, check_only, allow_unproven, not no_cache, chosen)
    _finish(lambda: command.run(request), chosen)


@app.command(short_help="Why a buffer is as large as it is.")
def explain(
    specs: Specs,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="RUNNER.AXIS, RUNNER.SLOT or a wrapper.")
    ],
    config: Annotated[Path | None, typer.Option("--config", help=CONFIG_HELP)] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option("--mode", metavar="MODE", help="Only this mode or family; may be repeated."),
    ] = None,
    output: Output = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Show why a buffer is as large as it is, step by step; with a configuration, in numbers."""
    from ullage.commands import explain as command

    chosen = _format(output, as_json)
    _finish(lambda: command.run(specs, name, config, mode or [], chosen), chosen)


@app.command(short_help="The buffers of one configuration, in bytes.")
def size(
    specs: Specs,
    config: Annotated[Path, typer.Option("--config", help=CONFIG_HELP)],
    output: Output = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Show the buffers of one configuration: capacities, shapes, bytes, tails, what binds them."""
    from ullage.commands import size as command

    chosen = _format(output, as_json)
    _finish(lambda: command.run(specs, config, chosen), chosen)


@app.command(short_help="Where these buffers lie, and what shares storage.")
def plan(
    specs: Specs,
    config: Annotated[Path, typer.Option("--config", help=CONFIG_HELP)],
    graph_bytes: Annotated[
        int | None,
        typer.Option("--graph-bytes", min=0, help="What a GraphPool was measured to hold."),
    ] = None,
    output: Output = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Show where the buffers of one configuration lie, what shares storage, and what it saves."""
    from ullage.commands import plan as command

    chosen = _format(output, as_json)
    _finish(lambda: command.run(specs, config, chosen, graph_bytes), chosen)


@app.command(short_help="The engine's own formulas beside the capacities.")
def audit(
    specs: Specs,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="This audit; repeatable.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show all verdicts with their reasons.")
    ] = False,
    output: Output = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Compare the engine's own formulas with the capacities, mode by mode."""
    from ullage.commands import audit as command

    chosen = _format(output, as_json)
    names = tuple(only or ())
    _finish(lambda: command.run(specs, names, verbose, chosen), chosen)


@app.command(short_help="What a code means, and the remedy.")
def error(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="Such as U302.")] = None,
    output: Output = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Explain a code, or list all codes."""
    from ullage.commands import error as command

    chosen = _format(output, as_json)
    _finish(lambda: command.run(code, chosen), chosen)


@app.command(name="build-kernels", short_help="Build what generated packages load through.")
def build_kernels(
    folder: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="Folder that was compiled into.")
    ] = None,
    device: Annotated[
        Device, typer.Option("--device", help="cpu: the one library of all runners there.")
    ] = Device.CUDA,
    architectures: Annotated[
        list[str] | None,
        typer.Option("--arch", metavar="CAPABILITY", help="Such as 9.0; repeatable."),
    ] = None,
) -> None:
    """Build the kernels below OUT ahead of time, for the devices that are here if none is named."""
    from ullage.commands import build_kernels as command

    chosen = tuple(architectures or ())
    _finish(lambda: command.run(folder, device, chosen), Format.TEXT)


@app.command(
    short_help="Serve a small model through the generated code.",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def demo(context: typer.Context) -> None:
    """Serve a small model through the generated code; the demo reads its own options."""
    from ullage.commands import demo as command

    _finish(lambda: command.run(tuple(context.args)), Format.TEXT)

"""All commands, and what they share: ``--version``, ``--debug`` and errors as one line."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mercer.cli import demo, fit, label, look, models, plan, predict, rank
from mercer.cli.output import show_error, show_stopped, warnings_as_lines
from mercer.validation import EngineError


class Commands(TyperGroup):
    """Shows errors that a user can fix as one line instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; errors that the user can fix end with exit code 2."""
        try:
            with warnings_as_lines():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            show_stopped(error)
            raise typer.Exit(130) from error
        except BrokenPipeError:  # the reader of a pipe has seen enough
            raise
        except (ValueError, OSError, ImportError, MemoryError, EngineError) as error:
            if ctx.params.get("debug"):
                raise
            show_error(error)
            raise typer.Exit(2) from error


app = typer.Typer(
    name="mercer",
    cls=Commands,
    help="Least-squares kernel learning: fit a model to a file, predict with it, inspect it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from mercer import __version__

        typer.echo(f"mercer {__version__}")
        raise typer.Exit()


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show errors as tracebacks.")] = False,
) -> None:
    """Options of all commands."""


app.command("look", epilog=look.EXAMPLES)(look.look)
app.command("plan", epilog=plan.EXAMPLES)(plan.plan)
app.command("fit", epilog=fit.EXAMPLES)(fit.fit)
app.command("predict", epilog=predict.EXAMPLES)(predict.predict)
app.command("label")(label.label)
app.command("rank", epilog=rank.EXAMPLES)(rank.rank)
app.command("export", epilog=models.EXPORT_EXAMPLES)(models.export)
app.command("info")(models.info)
app.command("card", epilog=models.CARD_EXAMPLES)(models.card)
app.command("demo")(demo.demo)

"""The command line: `sizing`. A command is one module of `builder/commands`, named as it is, and no list to edit."""
from __future__ import annotations

import pkgutil
import sys
from importlib import import_module

import click

from builder import __version__, commands
from builder.errors import SizingError, UsageError, nearest


class _Group(click.Group):
    """A group that loads a command when it is asked for, and turns a SizingError into its message and its exit code."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(context):
            return None
        module = name.replace("-", "_")
        return getattr(import_module(f"builder.commands.{module}"), module)

    def resolve_command(self, context: click.Context, args: list[str]):
        if args and args[0] not in self.list_commands(context):
            raise click.UsageError(f"no command '{args[0]}'{nearest(args[0], self.list_commands(context))}")
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context):
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise  # click ends in silence when nobody reads on
        except (SizingError, OSError) as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(getattr(error, "exit_code", 1))


# sysexits' EX_USAGE, as our own UsageError has it: click's 2 is that of a wrong preset.
click.UsageError.exit_code = UsageError.exit_code


@click.group(cls=_Group)
@click.version_option(__version__)
def main() -> None:
    """Build, check and use the GPU sizing workbooks."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # a pipe on Windows has no check mark

"""`loom`: the command group, its common options, and how errors become a message and an exit code."""

from __future__ import annotations

import logging
import sys

import click

from ..errors import LoomError
from ..redaction import RedactingFormatter
from ..settings import Settings
from .command_context import CommandContext
from .commands import CommandGroup
from .output import as_commands, emit_json


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--where", type=click.Choice(["local", "aws"]), default="local", show_default=True, help="Where AgentCore runs."
)
@click.option("--region", help="AWS region (default: AWS_REGION, then the profile's).")
@click.option("--profile", help="AWS profile (default: AWS_PROFILE, then boto3's own chain).")
@click.option(
    "--home",
    type=click.Path(file_okay=False),
    help="Home folder (default: LOOM_HOME, then .loom in this folder or above).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.version_option(package_name="loomlib", prog_name="loom")
@click.pass_context
def cli(
    context: click.Context, where: str, region: str | None, profile: str | None, home: str | None, as_json: bool
) -> None:
    """Deploy, invoke, measure and evaluate agents on Amazon Bedrock AgentCore, locally or on AWS."""
    if context.invoked_subcommand == "trust":
        return  # it accepts the folder that the settings would refuse
    settings = Settings.load(region=region, profile=profile, home=home)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("loom  %(levelname)s %(name)s: %(message)s"))
    level = "WARNING" if settings.log_level == "info" else settings.log_level.upper()
    logging.basicConfig(level=getattr(logging, level), handlers=[handler])
    context.obj = CommandContext(where=where, settings=settings, as_json=as_json)


def main() -> None:
    """Run `loom`.

    Exit codes: 0 done; 1 failed; 2 a gate was missed, a check found a problem (an alarm, a regression, a leak), or the
    command line is invalid; 130 interrupted.
    """
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("loom  interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has closed the pipe (`loom logs | head`)
        sys.exit(0)
    except (LoomError, ValueError) as error:
        if "--json" in sys.argv:
            emit_json({"error": type(error).__name__, "message": as_commands(str(error))})
        else:
            click.echo(f"loom  {as_commands(str(error))}", err=True)
        sys.exit(1)
    except Exception as error:
        # A plugin's command may raise anything. A bug of Loom keeps its traceback.
        if (failure := cli.foreign_failure(error)) is None:
            raise
        click.echo(f"loom  {failure}", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)

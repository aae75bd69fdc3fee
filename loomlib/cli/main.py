"""`loom …`: the group, its common options, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import logging
import sys

import click

from ..errors import LoomError
from ..settings import Settings
from .commands import Commands
from .output import emit_json
from .place import Place


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--where", type=click.Choice(["local", "aws"]), default="local", show_default=True, help="Which AgentCore."
)
@click.option("--region", help="AWS region (else AWS_REGION, then the profile's).")
@click.option("--profile", help="AWS profile (else AWS_PROFILE, then boto3's default chain).")
@click.option(
    "--home", type=click.Path(file_okay=False), help="State folder (else LOOM_HOME, then .loom here or above)."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.version_option(package_name="loomlib", prog_name="loom")
@click.pass_context
def cli(
    context: click.Context, where: str, region: str | None, profile: str | None, home: str | None, as_json: bool
) -> None:
    """A laboratory for agents on Amazon Bedrock AgentCore, offline and on AWS alike."""
    settings = Settings.load(region=region, profile=profile, home=home)
    logging.basicConfig(
        level=getattr(logging, "WARNING" if settings.log_level == "info" else settings.log_level.upper()),
        format="loom  %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    context.obj = Place(where=where, settings=settings, as_json=as_json)


def main() -> None:
    """Entry point of `loom`. Exit codes: 0 done, 1 failed, 2 a gate was missed or the command line is wrong."""
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
        sys.stderr.close()  # the reader went away (`loom logs | head`): nothing is left to say
        sys.exit(0)
    except (LoomError, ValueError) as error:
        if "--json" in sys.argv:
            emit_json({"error": type(error).__name__, "message": str(error)})
        else:
            click.echo(f"loom  {error}", err=True)
        sys.exit(1)
    except Exception as error:
        # A plugin's command may fail in any way; a bug of Loom's own shows where it is.
        if (told := cli.foreign_failure(error)) is None:
            raise
        click.echo(f"loom  {told}", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)

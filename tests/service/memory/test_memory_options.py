"""`loom up` says how long-term memory is extracted."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from loomlib import local
from loomlib.cli.main import cli


def up(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["up", *arguments], env={"LOOM_HOME": str(home)})


def test_up_takes_the_delay_and_the_extractor_and_refuses_others(tmp_path: Path) -> None:
    refused = up(tmp_path, "--memory-extractor", "guess")
    assert (refused.exit_code, local.find(tmp_path)) == (2, None)
    try:
        assert up(tmp_path, "--memory-delay", "0.5", "--memory-extractor", "model").exit_code == 0
        state = local.find(tmp_path)
        assert state is not None
        assert (state.options.memory_delay_s, state.options.memory_extractor) == (0.5, "model")
    finally:
        local.stop(tmp_path)

"""Pre-warmed sessions on the local service: an idle session ends, a pinged one is kept."""

from __future__ import annotations

from pathlib import Path

import loomlib as loom
from loomlib import local
from loomlib.experiments import Silent


def test_a_pinged_session_outlives_the_gap_that_ends_an_idle_one(tmp_path: Path) -> None:
    home = tmp_path / ".loom"
    try:
        with loom.connect(home=home) as bench:
            agent = bench.deploy("calculator", environment={"LOOM_LOCAL_IDLE_TIMEOUT_S": "3"})
            logs = bench.context.log_reader.session_logs
            for _ in range(5):
                study = loom.PrewarmStudy(agent, idle_timeout_s=3, gap_s=5, ping_every_s=(0, 0.5), gaps=2)
                result = study.run(Silent())
                processes = {
                    call.session_id: {
                        event.stream
                        for event in logs(agent.entry.arn, qualifier="DEFAULT", session_id=call.session_id or "")
                    }
                    for call in result.calls
                }
                if all(len(processes[call.session_id]) == (1 if call.ping_every_s else 2) for call in result.calls):
                    break  # on a busy machine a ping, or the end of an idle session, may be seconds late
            assert [call.state for call in result.calls] == ["done"] * 4
            for call in result.calls:
                assert len(processes[call.session_id]) == (1 if call.ping_every_s else 2)
                assert bool(call.pings_ms) == bool(call.ping_every_s)
    finally:
        local.stop(home)

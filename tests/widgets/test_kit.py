"""What all panels share: actions beside the main thread, Stop, errors in words, tables by pages, representations."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, cast

import pytest

import loomlib as loom
from loom_widgets.kit import Cancel, Form, Panel, PanelPort, Stream, action
from loom_widgets.kit.panel import script_of, static_summary
from loomlib.errors import LoomError

from .conftest import Watched, wait_until

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x00\ud7ff'\"`${x}</script>"

READABLE = (
    "arn:aws:bedrock-agentcore:eu-west-1:611597143987:runtime/shop-Ab3dEf6hIj "
    "loom-0123456789abcdef0123456789abcdef 8f14e45f-ceea-467f-a9d0-6f3c0e6d2b1a "
    "/srv/agents/Xk9fQ2mLp7Rt4Vz8Wb3Nc6Yd/agent.py eval-20261121-213000-1a2b3c shop_Xk9fQ2mLp7Rt4Vz8Wb3Nc6Yd"
)
"""What an error names and a reader needs: an ARN, ids, a path and a name."""


class Workshop(Panel):
    """Actions of every kind."""

    called: ClassVar[str] = "Workshop"

    @action
    def double(self, form: Form) -> Mapping[str, Any]:
        self.show(last=form.number("n"))
        return {"twice": form.number("n") * 2, "thread": threading.current_thread().name}

    @action(lane="long")
    def linger(self, form: Form, cancel: Cancel) -> None:
        self.send_message("lingers")
        while not cancel.wait(0.01):
            pass
        cancel.check()

    @action
    def refuse(self) -> None:
        raise LoomError("Nothing is deployed", on=HOSTILE, try_="deploy")

    @action
    def explode(self) -> None:
        raise RuntimeError("password=hunter2 in some value")

    @action
    def leak(self) -> None:
        raise ValueError("the key AKIAIOSFODNN7EXAMPLE is no number\nTraceback: …")

    @action
    def mention(self) -> None:
        raise LoomError("The password is swordfish", on=READABLE, try_="write to ann.lee@example.org")

    @action(lane="long")
    def count(self) -> None:
        with self.stream("numbers") as numbers:
            for number in range(500):
                numbers.put(number)

    def not_an_action(self) -> None:
        raise AssertionError("never called by a view")


class Tools:
    """Actions in an object that a panel holds."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel

    @action(lane=lambda tools, form: form.text("lane", "tools"))
    def sharpen(self, form: Form) -> Mapping[str, Any]:
        self._panel.say(f"Sharpened {form.text('what')}.")
        return {"sharp": form.text("what")}


class Bench(Panel):
    """A panel whose only actions are those of an object that it holds."""

    def __init__(self, bench: loom.Workbench) -> None:
        super().__init__(bench, actions=(Tools(self),))


@pytest.fixture
def watched() -> Iterator[Watched]:
    panel = Workshop(cast("loom.Workbench", None))
    yield Watched(panel)
    panel.close()


class SlowChannel:
    """A comm that holds each message until `may_send` is set, so that another thread can close the panel meanwhile."""

    comm_id = "slow"

    def __init__(self, panel: Panel) -> None:
        self.is_sending, self.may_send = threading.Event(), threading.Event()
        self.may_send.set()
        panel.comm = self
        self.may_send.clear()
        self.is_sending.clear()
        self.sent: list[Mapping[str, Any]] = []

    @property
    def kernel(self) -> object:
        """Return a value other than None, which ipywidgets requires before it sends a message."""
        self.is_sending.set()
        self.may_send.wait()
        return self

    def send(self, *, data: Mapping[str, Any], **_: object) -> None:
        self.sent.append(data)

    def on_msg(self, _: object) -> None:
        """Ignore the handler: views send no messages in this test."""

    def close(self) -> None:
        """Close nothing: there is no connection."""


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("loom-Workshop")]


def test_an_action_answers_from_another_thread_and_is_acknowledged_at_once(watched: Watched) -> None:
    assert watched.ask("double", n=21) == {"twice": 42.0, "thread": "loom-Workshop-main"}
    assert [message["is"] for message in watched.messages] == ["received", "done"]
    assert watched.panel.state == {"last": 21.0}


def test_views_and_python_call_the_actions_of_an_object_that_a_panel_holds() -> None:
    panel = Bench(cast("loom.Workbench", None))
    watched = Watched(panel)
    try:
        assert watched.ask("sharpen", what="saw") == {"sharp": "saw"}
        assert panel.status == "Sharpened saw."
        assert panel.sharpen(Form(what="axe")) == {"sharp": "axe"}
        assert watched.ask("sharpen", what="saw", lane=7) == {"failed": True}
        assert "lane must be a text" in panel.error["what"]
        with pytest.raises(AttributeError, match="'Bench' object has no attribute 'blunt'"):
            panel.blunt()
    finally:
        panel.close()
    with pytest.raises(ValueError, match="two actions are named 'sharpen'"):
        Panel(cast("loom.Workbench", None), actions=(Tools(panel), Tools(panel)))


def test_a_form_takes_only_what_is_asked_for(watched: Watched) -> None:
    for hostile in ([1], {"a": 1}, True, float("nan"), float("inf"), "1e999", HOSTILE, "seven"):
        assert watched.ask("double", n=hostile) == {"failed": True}
        assert "number" in watched.panel.error["what"]
    assert watched.ask("double", n="7") == {"twice": 14.0, "thread": "loom-Workshop-main"}
    assert watched.panel.error == {}
    form = Form({"a": ["x", "y"], "b": "text", "c": -5})
    assert (form.texts("a"), form.texts("none"), form.count("c"), form.flag("b")) == (["x", "y"], [], 0, False)
    for wrong in ("b", "c"):
        with pytest.raises(ValueError, match="list of texts"):
            form.texts(wrong)


def test_messages_that_are_no_commands_do_nothing(watched: Watched) -> None:
    for message in (None, 7, "double", [], {}, {"do": 1}, {"do": None, "with": {}}):
        watched.panel.receive(message)
    assert watched.messages == []
    for name in ("not_an_action", "close", "__init__", "bench", HOSTILE * 50):
        assert watched.ask(name) == {"failed": True}
        assert "no such action" in watched.panel.error["what"]
    watched.panel.receive({"do": "double", "with": "no form", "id": 99})
    assert watched.answer(99)["twice"] == 0


def test_a_method_that_replaces_an_action_is_one_only_if_it_is_marked() -> None:
    class Quieter(Workshop):
        def double(self, form: Form) -> Mapping[str, Any]:
            return {"twice": 0}

    watched = Watched(Quieter(cast("loom.Workbench", None)))
    assert watched.ask("double", n=2) == {"failed": True}
    assert watched.ask("look_again") == {}


def test_a_panel_that_is_closed_while_it_sends_sends_first() -> None:
    panel = Workshop(cast("loom.Workbench", None))
    channel = SlowChannel(panel)
    saying = threading.Thread(target=panel.say, args=("Done.",))
    closing = threading.Thread(target=panel.close)
    saying.start()
    channel.is_sending.wait()
    closing.start()
    closing.join(0.5)  # it ends before the message is sent, or waits for it
    channel.may_send.set()
    saying.join()  # pytest reports exceptions of threads
    closing.join()
    assert [message["state"] for message in channel.sent] == [{"status": "Done."}]
    assert panel.comm is None


def test_stop_cancels_what_runs_and_what_waits_in_its_lane_only(watched: Watched) -> None:
    first, second = watched.begin("linger"), watched.begin("linger")
    wait_until(lambda: watched.of("lingers"))
    assert watched.ask("double", n=1)["twice"] == 2
    assert watched.panel.busy
    assert watched.ask("stop", lane="long") == {"stopped": True}
    assert watched.answer(first) == {"stopped": True}
    assert watched.answer(second) == {"stopped": True}
    assert len(watched.of("lingers")) == 1
    wait_until(lambda: not watched.panel.busy and not threads())
    assert watched.panel.error == {}
    assert watched.ask("stop") == {"stopped": False}


def test_errors_are_three_parts_without_secrets_or_traces_and_the_panel_lives_on(watched: Watched) -> None:
    assert watched.ask("refuse") == {"failed": True}
    assert watched.panel.error == {"what": "Nothing is deployed", "on": HOSTILE, "try": "deploy", "action": "refuse"}
    assert watched.ask("explode") == {"failed": True}
    assert watched.panel.error["what"].startswith("RuntimeError")
    assert "hunter2" not in str(watched.panel.error)
    assert watched.ask("leak") == {"failed": True}
    assert "AKIAIOSFODNN7EXAMPLE" not in str(watched.panel.error)
    assert watched.ask("mention") == {"failed": True}
    assert watched.panel.error["what"] == "The password is [password]"
    assert watched.panel.error["try"] == "write to [email]"
    assert watched.panel.error["on"] == READABLE
    assert "Traceback" not in str(watched.panel.error)
    assert watched.ask("dismiss") == {}
    assert watched.panel.error == {}
    assert watched.ask("double", n=2)["twice"] == 4


def test_a_stream_gathers_keeps_the_order_and_ends(watched: Watched) -> None:
    watched.ask("count")
    batches = [message["items"] for message in watched.of("numbers")]
    assert [number for batch in batches for number in batch] == list(range(500))
    assert batches[0] == [0]
    assert len(batches) < 100
    stream = Stream(lambda items: None)
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        stream.put(1)


def test_closing_ends_the_threads_and_nothing_begins_afterwards() -> None:
    panel = Workshop(cast("loom.Workbench", None))
    watched = Watched(panel)
    watched.begin("linger")
    wait_until(lambda: watched.of("lingers"))
    panel.close()
    wait_until(lambda: not threads())
    panel.receive({"do": "linger", "id": 5})
    assert threads() == []
    panel.close()


def test_a_table_is_sent_by_pages_and_sorted_where_it_is(watched: Watched) -> None:
    rows = [{"n": None if n == 3 else n, "text": HOSTILE * 200 if n == 4 else f"row {n}"} for n in range(10_000)]
    assert watched.panel.tables.put("lines", rows) == 10_000
    page = watched.ask("page", table="lines", **{"from": 9_990, "count": 100})
    assert (page["total"], len(page["rows"]), page["rows"][-1]["n"]) == (10_000, 10, 9_999)
    page = watched.ask("page", table="lines", sort="n", down=True, count=10**9)
    assert [row["n"] for row in page["rows"][:2]] == [9_999, 9_998]
    assert len(page["rows"]) == 500
    last = watched.ask("page", table="lines", sort="n", down=True, **{"from": 9_999, "count": 1})
    assert last["rows"][0]["n"] is None
    assert len(watched.ask("page", table="lines", **{"from": 4, "count": 1})["rows"][0]["text"]) < 2_100
    assert watched.ask("page", table="no such table") == {"table": "no such table", "from": 0, "rows": [], "total": 0}
    assert watched.ask("page", table=7) == {"failed": True}


def test_a_table_tells_where_a_row_is_now(watched: Watched) -> None:
    rows = [{"id": f"r{at}", "part": at % 2, "text": "x" * 3_000 if at == 7 else "", "n": 10 - at} for at in range(10)]
    watched.panel.tables.put("kept", [{"id": "new", "part": 0, "text": "", "n": 99}, *rows])

    def place(near: int = 0, /, **find: object) -> object:
        return watched.ask("page", table="kept", find=find, near=near, count=1)["at"]

    assert place(4, id="r4", part=0) == 5
    assert place(5, id="r4", part=0) == 5
    assert place(50, id="r4", part=1) is None
    row = watched.ask("page", table="kept", **{"from": 8})["rows"][0]
    assert place(id="r7", text=row["text"]) == 8
    assert watched.ask("page", table="kept", find={"id": "r9"}, sort="n")["at"] == 0
    assert watched.ask("page", table="kept", find={"id": "r9"}, sort="n", down=True)["at"] == 10
    assert "at" not in watched.ask("page", table="kept", find=None)


def test_of_tables_of_a_kind_only_the_newest_are_kept(watched: Watched) -> None:
    tables = watched.panel.tables
    tables.put("bars", [{"n": 0}])
    names = [tables.put_newest("bars", str(number), [{"n": number}], most=3) for number in (1, 2, 3, 2, 4)]
    assert names[0] == "bars 1"
    assert [len(tables.rows(name)) for name in ("bars 1", "bars 2", "bars 3", "bars 4", "bars")] == [0, 1, 1, 1, 1]


def test_the_representations_escape_and_stay_the_same(watched: Watched) -> None:
    watched.panel.say(HOSTILE)
    data, _ = watched.panel._repr_mimebundle_()
    assert "<img" not in data["text/html"]
    assert data["text/plain"] == "<Workshop: Workshop>"
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "<img" not in static_summary([HOSTILE], [([HOSTILE], [[HOSTILE]])])


def test_the_kit_can_set_no_markup() -> None:
    kit = script_of(Panel)
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        ".src",
    ):
        assert forbidden not in kit

"""Memory maintenance: health, changes, exports and imports, forgetting an actor, isolation."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loomlib.errors import LoomError
from loomlib.presentation.formats import plural, timestamp

from ...kit import Cancel, Form, PanelPort, action
from .chosen_memory import ChosenMemory

if TYPE_CHECKING:
    from loomlib.memory import MemorySnapshot
    from loomlib.memory.exchange import ImportPreview
    from loomlib.memory.forgetting import ForgetPreview, ForgetResult
    from loomlib.memory.health import Finding

_FINDINGS = 500
_EVIDENCE = 20
_SHOWN_ROWS = 500


class MaintenanceActions:
    """Actions that check, compare, copy and delete. Views that open later get the latest results."""

    def __init__(self, panel: PanelPort, chosen: ChosenMemory) -> None:
        self._panel, self._chosen = panel, chosen
        self._snapshots: list[tuple[str, MemorySnapshot]] = []
        self._forget: ForgetPreview | None = None
        self._forgotten: ForgetResult | None = None
        self._import: ImportPreview | None = None
        self._results: dict[str, Mapping[str, Any]] = {}

    @action(lane="keep")
    def health(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Check the memory's health and list the findings."""
        allow = form.texts("allow")
        self._chosen.show_call(f"memory.health({f'allow={allow!r}' if allow else ''})")
        self._panel.say("Checking records and events …")
        progress = self._chosen.progress_callback(cancel)
        report = self._chosen.memory.health(allow=allow, progress=progress)
        progress.check()  # the panel may show another memory by now
        self._panel.say(report.sentence())
        return self._keep("health", {
            "sentence": report.sentence(), "growth": report.growth.sentence() if report.growth else "",
            "healthy": report.is_healthy, "labels": list(report.labels),
            "findings": [_finding(at, finding) for at, finding in enumerate(report.findings[:_FINDINGS])],
        })  # fmt: skip

    @action(lane="keep")
    def snapshot(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Take a snapshot of the memory, and save it when a file is named."""
        file = _new_file(form) if form.text("path").strip() else None
        self._panel.say("Taking a snapshot …")
        progress = self._chosen.progress_callback(cancel)
        snapshot = self._chosen.memory.snapshot(progress=progress)
        progress.check()
        saved = snapshot.save(file) if file else None
        self._chosen.show_call("before = memory.snapshot()", *([f"before.save({str(file)!r})"] if file else []))
        return self._add_snapshot(snapshot, f"saved as {saved.name}" if saved else "")

    @action(lane="keep")
    def open_snapshot(self, form: Form) -> Mapping[str, Any]:
        """Open a snapshot that was saved earlier."""
        from loomlib.memory import read_snapshot

        path = form.path("path")
        if path is None:
            raise LoomError("No file is named", try_="the path of a saved snapshot")
        self._chosen.show_call("from loomlib.memory import read_snapshot\n", f"before = read_snapshot({str(path)!r})")
        return self._add_snapshot(read_snapshot(path), f"read from {path.name}")

    @action(lane="keep")
    def diff(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Return what changed between two snapshots, or since one."""
        if not self._snapshots:
            raise LoomError("There is no snapshot to compare with", try_="take one now, and compare later")
        memory, progress = self._chosen.memory, self._chosen.progress_callback(cancel)
        before = self._snapshot(form.text("before"))
        after = self._snapshot(form.text("after")) if form.text("after") else None
        self._chosen.show_call("before = memory.snapshot()", "# later:", "memory.diff(before)")
        if after is None:
            self._panel.say("Reading the current state …")
            after = memory.snapshot(events=before.events is not None, progress=progress)
        difference = memory.diff(before, after)
        progress.check()
        self._panel.tables.put("changes", difference.rows())
        self._panel.say(f"{plural(len(difference), 'record')} changed.")
        counts = [{"namespace": place, **count} for place, count in list(difference.counts().items())[:_SHOWN_ROWS]]
        return self._keep("diff", {"note": difference.note(), "count": len(difference), "counts": counts})

    @action(lane="keep")
    def export_preview(self, form: Form) -> Mapping[str, Any]:
        """Return the first lines that an export would write."""
        actors, redact = self._export_of(form)
        self._chosen.show_call(f"memory.preview_export({_export_options(actors, redact)})")
        preview = self._chosen.memory.preview_export(actors=actors, redact=redact)
        self._panel.say(f"{plural(len(preview.lines), 'line')} in the preview; nothing has been written.")
        return {"rows": preview.rows(), "note": preview.note()}

    @action(lane="keep")
    def export(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Write events and records to a file."""
        actors, redact = self._export_of(form)
        file, options = _new_file(form), _export_options(actors, redact)
        self._chosen.show_call(f"memory.export({str(file)!r}{', ' if options else ''}{options})")
        result = self._chosen.memory.export(
            file, actors=actors, redact=redact, progress=self._chosen.progress_callback(cancel)
        )
        self._panel.say(f"Exported to {file.name}: {_counted(result.rows())}.")
        return {"rows": result.rows(), "note": result.note(), "path": str(file)}

    @action(lane="keep")
    def import_preview(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Return what an import would add."""
        path = form.path("path")
        if path is None:
            raise LoomError("No file is named", try_="the path of an export")
        self._import = None
        self._chosen.show_call(f"preview = memory.import_({str(path)!r})", "preview.confirm()")
        progress = self._chosen.progress_callback(cancel)
        preview = self._chosen.memory.import_(path, progress=progress)
        progress.check()
        self._import = preview
        self._panel.say(
            f"From {preview.source}: {_counted(preview.rows(), 'to write')} to write. Nothing has been written yet."
        )
        return {"rows": preview.rows(), "note": preview.note(), "source": preview.source}

    @action(lane="keep")
    def import_now(self, _form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Write the previewed import."""
        if self._import is None:
            raise LoomError("There is no preview of an import", try_="preview the file first")
        self._is_of_this_memory(self._import)
        result = self._import.confirm(progress=self._chosen.progress_callback(cancel))
        self._import = None
        self._chosen.choose_actor(self._chosen.actor, self._chosen.session, again=True)
        self._panel.say(f"Imported: {_counted(result.rows(), 'written')}.")
        return {"rows": result.rows(), "note": result.note()}

    @action(lane="keep")
    def forget(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Return what the memory holds of an actor; nothing is deleted."""
        actor = self._chosen.named_actor(form)
        self._forget = None
        self._chosen.show_call(
            f"preview = memory.forget({actor!r})", "forgotten = preview.confirm()", "forgotten.verify()"
        )
        progress = self._chosen.progress_callback(cancel)
        preview = self._chosen.memory.forget(actor, progress=progress)
        progress.check()
        self._forget = preview
        counts = f"{plural(preview.events, 'event')} and {plural(preview.records, 'record')}"
        self._panel.say(f"{counts} of {actor} would be deleted; nothing has been deleted yet.")
        rows = preview.rows()[:_SHOWN_ROWS]
        return {
            "actor": actor,
            "rows": rows,
            "note": preview.note(),
            "events": preview.events,
            "records": preview.records,
        }

    @action(lane="keep")
    def forget_for_good(self, form: Form) -> Mapping[str, Any]:
        """Delete the previewed data. The actor's id must be typed; Stop does not interrupt the deletion."""
        if self._forget is None or form.text("typed") != self._forget.actor_id:
            raise LoomError(
                "Nothing was deleted: the text does not match the actor's id",
                on=form.text("typed")[:80] or "nothing was typed",
                try_="type the id exactly as the preview shows it",
            )
        self._is_of_this_memory(self._forget)
        actor, preview, self._forget = self._forget.actor_id, self._forget, None
        self._panel.say(f"Forgetting {actor} …")
        self._forgotten = preview.confirm(progress=self._chosen.progress_callback())
        self._chosen.choose_actor("" if self._chosen.actor == actor else self._chosen.actor, again=True)
        return self._publish_forgotten()

    @action(lane="keep")
    def verify(self) -> Mapping[str, Any]:
        """Search again: a running extraction may have written records in the meantime."""
        if self._forgotten is None:
            raise LoomError("No actor has been forgotten here", try_="preview, then delete")
        self._forgotten = self._forgotten.verify()
        return self._publish_forgotten()

    @action(lane="keep")
    def isolation(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Test whether reads of one actor return another actor's data."""
        actors, seed = max(2, form.count("actors", 12, most=100)), form.count("seed", 0)
        slashes = form.flag("slashes")
        also = ", slashes=True" if slashes else ""
        self._chosen.show_call(f"memory.check_isolation(actors={actors}, seed={seed}{also})")
        self._panel.say("Writing temporary actors and reading as each of them …")
        progress = self._chosen.progress_callback(cancel)
        report = self._chosen.memory.check_isolation(actors=actors, seed=seed, slashes=slashes, progress=progress)
        progress.check()
        self._panel.say(report.sentence())
        return self._keep("isolation", {
            "sentence": report.sentence(), "isolated": report.is_isolated, "rows": report.rows()[:_SHOWN_ROWS],
        })  # fmt: skip

    @property
    def results(self) -> dict[str, Mapping[str, Any]]:
        """The latest results by the names of their actions."""
        return dict(self._results)

    def clear_results(self) -> None:
        """Clear the results of the previous memory."""
        self._snapshots, self._results = [], {}
        self._forget = self._forgotten = self._import = None
        self._panel.tables.put("changes", ())
        self._panel.show(snapshots=[])

    # Internal methods.

    def _is_of_this_memory(self, preview: ForgetPreview | ImportPreview) -> None:
        """Check that a preview belongs to the memory that the panel shows."""
        of = preview.reader.memory
        if of.memory_id != self._chosen.memory.id:
            self._forget = self._import = None
            raise LoomError(
                "Nothing was done: the preview belongs to another memory", on=of.name, try_="preview it again"
            )

    def _keep(self, key: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
        self._results[key] = value
        return value

    def _add_snapshot(self, snapshot: MemorySnapshot, how: str) -> Mapping[str, Any]:
        events = "" if snapshot.events is None else f", {plural(sum(snapshot.events.values()), 'event')}"
        text = f"{timestamp(snapshot.taken_at)} · {plural(len(snapshot.records), 'record')}{events}"
        self._snapshots.append((" · ".join(filter(None, (text, how))), snapshot))
        self._panel.show(snapshots=[item[0] for item in self._snapshots])
        self._panel.say("The snapshot is kept until the kernel stops." if not how else f"The snapshot is {how}.")
        return {"count": len(self._snapshots)}

    def _snapshot(self, place: str) -> MemorySnapshot:
        if not place.isdecimal() or int(place) >= len(self._snapshots):
            raise LoomError("There is no such snapshot", on=place[:40], try_="choose one from the list")
        return self._snapshots[int(place)][1]

    def _export_of(self, form: Form) -> tuple[list[str] | None, bool]:
        whole = not form.flag("only") or not self._chosen.actor
        return None if whole else [self._chosen.actor], not form.flag("plain")

    def _publish_forgotten(self) -> Mapping[str, Any]:
        result = self._forgotten
        assert result is not None
        counted, actor = _counted(result.rows(), "deleted"), result.actor_id
        self._panel.say(
            f"All data of {actor} was deleted: {counted}."
            if result.is_verified
            else f"NOT all data of {actor} was deleted, only {counted}."
        )
        return {
            "actor": result.actor_id, "verified": result.is_verified, "rows": result.rows(),
            "failures": list(result.failures[:20]), "elsewhere": list(result.may_still_hold),
        }  # fmt: skip


def _finding(at: int, finding: Finding) -> dict[str, Any]:
    evidence = [
        {"id": item.id, "what": item.what, "text": item.text(), "actor": item.actor_id, "session": item.session_id}
        for item in finding.evidence[:_EVIDENCE]
    ]
    return {
        "at": at, "severity": finding.severity, "kind": finding.kind.replace("_", " "), "what": finding.what,
        "fix": finding.fix, "count": finding.count, "certainty": finding.certainty, "evidence": evidence,
    }  # fmt: skip


def _counted(rows: list[dict[str, Any]], column: str = "count") -> str:
    """Return counts such as `1 actor, 3 events`, without zeros."""
    return ", ".join(plural(row[column], row["what"].removesuffix("s")) for row in rows if row[column]) or "nothing"


def _export_options(actors: list[str] | None, redact: bool) -> str:
    return ", ".join([*([f"actors={actors!r}"] if actors else []), *([] if redact else ["redact=False"])])


def _new_file(form: Form) -> Path:
    file = form.path("path")
    if file is None:
        raise LoomError("No file is named", try_="memory.jsonl")
    if file.is_dir():
        raise LoomError("The path is a folder", on=str(file), try_="the path of a file, such as memory.jsonl")
    if file.exists() and not form.flag("overwrite"):
        raise LoomError(
            "The file already exists", on=file.name, try_="another name, or tick “overwrite an existing file”"
        )
    return file

"""Tables of a memory show figures in the formats that all displays share, and keep their values."""

from datetime import UTC, datetime

from loomlib.presentation import formats
from loomlib.workbench.memory_tables import frame

ROWS = [(2345.6, datetime(2026, 11, 21, 21, 30, 5, tzinfo=UTC), "a\x1bb"), (0.0004, None, "c" * 500)]


def test_cells_have_the_shared_formats() -> None:
    table = frame(ROWS, ("score", "at", "text"), title="Records")
    for display in (repr(table), table._repr_html_()):
        for value in ("2\u202f346", "0.0004", "2026-11-21 21:30:05 UTC", "a\ufffdb", formats.MISSING):
            assert value in display, value
        assert "c" * 400 not in display
        assert "\x1b" not in display


def test_values_stay_exact() -> None:
    table = frame(ROWS, ("score", "at", "text"), title="Records")
    assert list(table.sort_values("score")["score"]) == [0.0004, 2345.6]
    assert table["text"][1] == "c" * 500

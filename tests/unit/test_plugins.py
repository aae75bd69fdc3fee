"""Plugins, each a real distribution in a folder of its own on sys.path."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from waiting import PATIENCE_S

from loomlib.errors import PluginError
from loomlib.plugins import HOOKS, Plugins, hookimpl, load_plugins

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Installs a distribution: its module's source and, unless given otherwise, one entry point at that module."""
    monkeypatch.syspath_prepend(tmp_path)
    modules: list[str] = []

    def install(name: str, source: str, *, entry_points: str | None = None, metadata: str | None = None) -> None:
        module = name.replace("-", "_")
        modules.append(module)
        (tmp_path / f"{module}.py").write_text(
            "from loomlib.plugins import hookimpl\n" + textwrap.dedent(source), encoding="utf-8"
        )
        info = tmp_path / f"{module}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(metadata or f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(entry_points or f"[loom.plugins]\n{name}-entry = {module}\n")

    yield install
    for module in modules:
        sys.modules.pop(module, None)


POLITE = """
    @hookimpl
    def loom_evaluators():
        def make(strictness=1):
            return f"polite {strictness}"
        return {"politeness": make}
"""


def only(plugins: Plugins):
    (problem,) = plugins.problems
    return problem


def others(plugins: Plugins):
    """The loaded plugins without the panels, which are installed wherever these tests run."""
    return [plugin for plugin in plugins.loaded if plugin.distribution != "loom-widgets"]


def test_what_an_installed_plugin_gives_is_found_by_kind_and_name(install: Install) -> None:
    install("loom-polite", POLITE)
    plugins = load_plugins()
    assert plugins.problems == ()
    assert plugins.names("evaluators") == ("politeness",)
    assert plugins.names("models") == ()
    assert plugins.get("evaluators", "politeness") == "polite 1"
    assert plugins.get("evaluators", "politeness", strictness=3) == "polite 3"
    (loaded,) = others(plugins)
    assert (loaded.distribution, loaded.version, loaded.target) == ("loom-polite", "1.5", "loom_polite")
    assert loaded.provides == {"evaluators": ("politeness",)}


def test_every_kind_has_its_hook(install: Install) -> None:
    hooks = "\n".join(f"@hookimpl\ndef loom_{kind}():\n    return {{'one': lambda: '{kind}'}}" for kind in HOOKS)
    install("loom-everything", hooks)
    plugins = load_plugins()
    assert plugins.problems == ()
    for kind in HOOKS:
        assert "one" in plugins.names(kind)
        assert plugins.entry(kind, "one")() == kind
    with pytest.raises(ValueError, match="evaluators"):
        plugins.names("gadgets")
    with pytest.raises(ValueError):
        plugins.get("gadgets", "one")


def test_where_no_panels_are_installed_their_distribution_is_named() -> None:
    with pytest.raises(PluginError, match=r"There is no panel 'test'\. Try: pip install loom-widgets"):
        Plugins((), {}, []).get("panels", "test")


def test_loading_a_plugin_makes_nothing_until_it_is_asked_for(install: Install) -> None:
    install(
        "loom-heavy",
        """
        def make():
            raise RuntimeError("made")
        @hookimpl
        def loom_models():
            return {"heavy": make}
        """,
    )
    plugins = load_plugins()
    assert plugins.names("models") == ("heavy",)
    assert plugins.problems == ()


def test_a_plugin_that_cannot_be_imported_is_a_problem_and_the_others_work(install: Install) -> None:
    install("loom-a-broken", "import some_module_that_nobody_has")
    install("loom-polite", POLITE)
    plugins = load_plugins()
    assert plugins.names("evaluators") == ("politeness",)
    problem = only(plugins)
    assert (problem.distribution, problem.version, problem.target) == ("loom-a-broken", "1.5", "loom_a_broken")
    assert problem.error == "ModuleNotFoundError: No module named 'some_module_that_nobody_has'"
    assert problem.fix == "pip install some_module_that_nobody_has"


def test_asking_for_a_broken_plugin_by_name_repeats_its_error(install: Install) -> None:
    install("loom-a-broken", "import some_module_that_nobody_has")
    plugins = load_plugins()
    for name in ("loom-a-broken", "loom-a-broken-entry"):
        with pytest.raises(PluginError, match=r"is broken: ModuleNotFoundError.*Try: pip install some_module"):
            plugins.get("evaluators", name)
    with pytest.raises(
        PluginError, match=r"There is no evaluator 'kindness'; a broken plugin may provide it: .*some_mod"
    ):
        plugins.get("evaluators", "kindness")


def test_an_unknown_name_is_answered_with_the_nearest_known_ones(install: Install) -> None:
    install("loom-polite", POLITE)
    with pytest.raises(PluginError, match=r"There is no evaluator 'politness'\. Try: politeness"):
        load_plugins().get("evaluators", "politness")
    with pytest.raises(PluginError, match="install a plugin that provides a span source"):
        load_plugins().get("span_sources", "jaeger")


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("raise RuntimeError('at import')", "RuntimeError: at import"),
        ("raise SystemExit('leaving')", "SystemExit: leaving"),
        ("def broken(:", "SyntaxError"),
        ("from loomlib.errors import NoSuchError", "ImportError"),
        ("@hookimpl\ndef loom_models():\n    raise KeyError('in the hook')", "KeyError: 'in the hook'"),
        ("@hookimpl\ndef loom_models():\n    raise SystemExit(3)", "SystemExit: 3"),
        (
            "@hookimpl\ndef loom_models():\n    return None",
            "TypeError: expected a dict of name → factory, not NoneType",
        ),
        (
            "@hookimpl\ndef loom_models():\n    return {'one': 'text'}",
            "'one': 'text' is not a pair of name and factory",
        ),
        ("@hookimpl\ndef loom_models():\n    return {1: print}", "is not a pair of name and factory"),
        ("@hookimpl\ndef loom_models(surprise):\n    return {}", "PluginValidationError"),
        ("@hookimpl\ndef loom_moddels():\n    return {}", "Loom has no hook loom_moddels; it has loom_evaluators"),
    ],
)
def test_whatever_a_plugin_does_while_loading_is_a_problem_in_a_list(install: Install, source: str, error: str) -> None:
    install("loom-bad", source)
    install("loom-polite", POLITE)
    plugins = load_plugins()
    problem = only(plugins)
    assert problem.distribution == "loom-bad"
    assert error in problem.error
    assert "loom-bad" in problem.fix
    assert plugins.get("evaluators", "politeness") == "polite 1"


def test_the_good_hooks_of_a_plugin_with_a_bad_one_are_kept(install: Install) -> None:
    install("loom-half", "@hookimpl\ndef loom_models():\n    raise RuntimeError\n" + textwrap.dedent(POLITE))
    plugins = load_plugins()
    assert plugins.names("evaluators") == ("politeness",)
    assert only(plugins).target == "loom_half → loom_models"
    assert only(plugins).error == "RuntimeError"


def test_a_thing_that_cannot_be_made_is_reported_each_time_and_listed_once(install: Install) -> None:
    install(
        "loom-late",
        """
        def make():
            import some_module_that_nobody_has
        @hookimpl
        def loom_panels():
            return {"late": make}
        """,
    )
    plugins = load_plugins()
    for _ in range(2):
        with pytest.raises(PluginError, match=r"The panel 'late' could not be created.*pip install some_module"):
            plugins.get("panels", "late")
    assert only(plugins).target == "loom_late → panel 'late'"


def test_reports_and_blueprints_may_be_paths_and_are_checked_when_used(install: Install, tmp_path: Path) -> None:
    install(
        "loom-paths",
        """
        from pathlib import Path
        @hookimpl
        def loom_reports():
            return {"nightly": Path(__file__).parent / "nightly.ipynb"}
        @hookimpl
        def loom_blueprints():
            return {"echo": "/templates/echo", "late": lambda: "/templates/late"}
        """,
    )
    plugins = load_plugins()
    assert plugins.problems == ()
    for kind, name, wrong in (
        ("reports", "nightly", r"expected an \.ipynb file at .*nightly\.ipynb"),
        ("blueprints", "echo", r"expected a folder with an agent\.py at /templates/echo"),
        ("blueprints", "late", "expected a folder with an agent.py at /templates/late"),
    ):
        with pytest.raises(PluginError, match=wrong):
            plugins.get(kind, name)
    (tmp_path / "nightly.ipynb").write_text("{}")
    assert plugins.get("reports", "nightly").name == "nightly.ipynb"
    assert plugins.usable("blueprints") == {}
    assert len(plugins.problems) == 3


def test_a_click_command_is_handed_out_and_not_run(install: Install) -> None:
    install(
        "loom-commands",
        """
        import click
        @click.command()
        def hello():
            raise SystemExit("it ran")
        @hookimpl
        def loom_commands():
            return {"hello": hello, "later": lambda: hello}
        """,
    )
    plugins = load_plugins()
    assert plugins.get("commands", "hello").name == "hello"
    assert plugins.get("commands", "later").name == "hello"


def test_built_ins_come_first_and_keep_their_names(install: Install) -> None:
    install("loom-polite", POLITE)

    @hookimpl
    def loom_evaluators() -> dict[str, Callable[[], str]]:
        return {"politeness": lambda: "Loom's own"}

    plugins = load_plugins([SimpleNamespace(__name__="loomlib.evaluators", loom_evaluators=loom_evaluators)])
    assert plugins.get("evaluators", "politeness") == "Loom's own"
    assert only(plugins).error == "loomlib provides 'politeness' already"
    assert [plugin.distribution for plugin in others(plugins)] == ["loomlib", "loom-polite"]


def test_of_two_plugins_with_one_name_the_first_keeps_it_and_the_second_is_reported(install: Install) -> None:
    install("loom-a-polite", POLITE.replace("polite {", "first {"))
    install("loom-b-polite", POLITE)
    plugins = load_plugins()
    assert plugins.get("evaluators", "politeness") == "first 1"
    assert (only(plugins).distribution, only(plugins).error) == (
        "loom-b-polite",
        "loom-a-polite provides 'politeness' already",
    )


def test_a_plugin_whose_import_does_not_end_is_named(
    install: Install, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_logged = threading.Event()

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            has_logged.set()

    ear = Ear()
    monkeypatch.setitem(sys.modules, "loom_ear", SimpleNamespace(said=has_logged))
    install("loom-hanging", "import loom_ear\nassert loom_ear.said.wait(240)")
    logging.getLogger("loomlib.plugins").addHandler(ear)
    try:
        assert load_plugins(slow_s=0.01).problems == ()
    finally:
        logging.getLogger("loomlib.plugins").removeHandler(ear)
    assert "loom_hanging of loom-hanging is still being imported" in caplog.text
    assert "LOOM_SKIP_PLUGINS=loom-hanging" in caplog.text


def test_a_plugin_that_is_skipped_is_not_imported_and_reports_it(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("loom-hanging", "raise SystemExit('it was imported')")
    install("loom-polite", POLITE)
    monkeypatch.setenv("LOOM_SKIP_PLUGINS", "loom-other, Loom-Hanging")
    plugins = load_plugins()
    assert plugins.names("evaluators") == ("politeness",)
    assert only(plugins).error == "skipped by LOOM_SKIP_PLUGINS"
    with pytest.raises(PluginError, match=r"skipped by LOOM_SKIP_PLUGINS.*Try: remove loom-hanging from LOOM_SKIP"):
        plugins.get("panels", "loom-hanging")


def test_what_a_plugin_prints_goes_beside_a_commands_result(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(
        "loom-chatty",
        """
        print("hello from the import")
        @hookimpl
        def loom_blueprints():
            print("hello from the hook")
            def place():
                print("hello from the factory")
                return "/nowhere"
            return {"chatty": place}
        """,
    )
    load_plugins().check()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split()[-1] for line in printed.err.splitlines()] == ["import", "hook", "factory"]


def test_one_distribution_may_bring_several_plugins(install: Install) -> None:
    install("loom-polite", POLITE, entry_points="[loom.plugins]\na = loom_polite\nb = missing_module:plugin\n")
    plugins = load_plugins()
    assert plugins.names("evaluators") == ("politeness",)
    assert only(plugins).target == "missing_module:plugin"
    assert only(plugins).fix == "pip install --force-reinstall loom-polite"


def test_what_is_installed_changed_or_removed_later_is_seen(install: Install, tmp_path: Path) -> None:
    def provided() -> tuple[str, ...]:
        return load_plugins().names("evaluators")

    before = provided()
    install("loom-polite", POLITE)
    assert provided() == tuple(sorted({*before, "politeness"}))
    install("loom-curt", POLITE.replace("politeness", "curtness"))
    assert provided() == tuple(sorted({*before, "curtness", "politeness"}))
    announcing = tmp_path / "loom_polite-1.5.dist-info" / "entry_points.txt"
    announcing.write_text("[another.group]\nentry = loom_polite\n")
    assert provided() == tuple(sorted({*before, "curtness"}))
    announcing.unlink()
    announcing.parent.joinpath("METADATA").unlink()
    announcing.parent.rmdir()
    (tmp_path / "loom_curt-1.5.dist-info" / "entry_points.txt").write_text("[loom.plugins]\nthis is no entry point\n")
    assert provided() == before
    assert "cannot be read" in only(load_plugins()).error


def test_a_malformed_entry_points_file_does_not_hide_the_other_plugins(install: Install) -> None:
    install("loom-mess", "", entry_points="[loom.plugins]\nthis is no entry point\n")
    install("loom-polite", POLITE)
    plugins = load_plugins()
    assert plugins.names("evaluators") == ("politeness",)
    assert "cannot be read" in only(plugins).error


def test_a_distribution_without_a_name_still_gives_its_plugin(install: Install) -> None:
    install("loom-polite", POLITE, metadata="Metadata-Version: 2.1\n")
    plugins = load_plugins()
    assert plugins.get("evaluators", "politeness") == "polite 1"


def test_importing_loom_loads_no_plugin_and_no_pluggy(tmp_path: Path) -> None:
    (tmp_path / "loom_loud.py").write_text("raise SystemExit('a plugin was imported')")
    info = tmp_path / "loom_loud-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loom-loud\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[loom.plugins]\nloud = loom_loud\n")
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import loomlib; assert 'pluggy' not in sys.modules; "
        "import loomlib.plugins"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=PATIENCE_S)

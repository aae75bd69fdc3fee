"""Whose fault it is when a plugin does not work, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import PluginError


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginProblem:
    """A plugin, or one thing of it, that cannot be used: whose it is, what went wrong, and how to mend it."""

    distribution: str
    version: str
    target: str
    error: str
    fix: str

    def __str__(self) -> str:
        return f"{self.target} of {self.distribution} {self.version}: {self.error}"

    def as_error(self, what: str) -> PluginError:
        """The problem as an error to raise; `what` says what was wanted."""
        return PluginError(
            f"{what}: {self.error}", on=f"{self.target} of {self.distribution} {self.version}", try_=self.fix
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a plugin comes from: its distribution, and the entry point's name and target."""

    distribution: str
    version: str
    target: str
    name: str

    def problem(self, error: BaseException | str, *, within: str = "", fix: str = "") -> PluginProblem:
        """`error`, met in this plugin, or in one thing `within` it; without a `fix` the error's usual one."""
        return PluginProblem(
            distribution=self.distribution,
            version=self.version,
            target=f"{self.target} → {within}" if within else self.target,
            error=error if isinstance(error, str) else _told(error),
            fix=fix or self._fix(error),
        )

    def _fix(self, error: BaseException | str) -> str:
        if isinstance(error, ModuleNotFoundError) and error.name:
            missing, own = error.name.partition(".")[0], self.target.partition(":")[0].partition(".")[0]
            if missing == own:
                return f"pip install --force-reinstall {self.distribution}"
            if missing != "loomlib":
                return f"pip install {missing}"
        return f"pip install --upgrade {self.distribution}, or pip uninstall {self.distribution}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A problem, and what it is a problem of: one thing, all that a plugin has of one kind, or (no kind) all of it."""

    origin: Origin
    problem: PluginProblem
    kind: str = ""
    name: str = ""


def _told(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}".rstrip(": ")
    except Exception:  # noqa: BLE001 -- a foreign exception that cannot even be printed
        return type(error).__name__

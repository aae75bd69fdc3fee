"""Problems of plugins: where they occurred and how to fix them."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import PluginError


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginProblem:
    """A plugin, or one of its entries, that cannot be used.

    Attributes:
        distribution: Name of the distribution.
        version: Its version.
        target: The entry point's target, with the place in the plugin.
        error: What went wrong.
        fix: How to fix it.
    """

    distribution: str
    version: str
    target: str
    error: str
    fix: str

    def __str__(self) -> str:
        return f"{self.target} of {self.distribution} {self.version}: {self.error}"

    def as_error(self, request: str) -> PluginError:
        """Return the problem as an error to raise; `request` states what was requested."""
        return PluginError(
            f"{request}: {self.error}", on=f"{self.target} of {self.distribution} {self.version}", try_=self.fix
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOrigin:
    """Where a plugin comes from: its distribution, and the entry point's name and target."""

    distribution: str
    version: str
    target: str
    name: str

    def problem(self, error: BaseException | str, *, within: str = "", fix: str = "") -> PluginProblem:
        """Return an error in this plugin as a problem.

        Args:
            error: The error.
            within: The part of the plugin, "" for the whole plugin.
            fix: How to fix it, by default the usual fix of such an error.
        """
        return PluginProblem(
            distribution=self.distribution,
            version=self.version,
            target=f"{self.target} → {within}" if within else self.target,
            error=error if isinstance(error, str) else _error_text(error),
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
    """A problem and its scope: one entry, all entries of a kind, or (without a kind) the whole plugin."""

    origin: PluginOrigin
    problem: PluginProblem
    kind: str = ""
    name: str = ""


def _error_text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}".rstrip(": ")
    except Exception:  # noqa: BLE001 -- a foreign exception that cannot even be printed
        return type(error).__name__

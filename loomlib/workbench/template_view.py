"""A CloudFormation template of a deployment, as notebooks show it."""

from __future__ import annotations

from pathlib import Path

from ..deploy.cloudformation import StackTemplate
from ..jobs import whole_file
from ..presentation.html import card


class TemplateView:
    """A template, for `aws cloudformation deploy` or a pipeline.

        plan.template().write("agent.yaml")

    Args:
        template: The template.
    """

    def __init__(self, template: StackTemplate) -> None:
        self._template = template

    @property
    def value(self) -> StackTemplate:
        """The template's content, capabilities and notes."""
        return self._template

    def yaml(self) -> str:
        """Return the template as YAML."""
        return self._template.yaml()

    def json(self) -> str:
        """Return the template as JSON."""
        return self._template.json()

    def write(self, path: Path | str) -> Path:
        """Write the template, as JSON if the file's name ends with .json, else as YAML, and return the file.

        Raises:
            LoomError: It cannot be written.
        """
        target = Path(path)
        with whole_file("The template", target, private=False) as file:
            file.write(self.json() if target.suffix == ".json" else self.yaml())
        return target

    def __repr__(self) -> str:
        return self.yaml()

    def _repr_html_(self) -> str:
        return card(
            "CloudFormation template",
            facts=[("capabilities", ", ".join(self._template.capabilities))],
            text=self.yaml(),
            note=" ".join(self._template.notes),
        )

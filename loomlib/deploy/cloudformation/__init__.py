"""An agent's deployment as a CloudFormation template."""

from .template import stack_template
from .values import StackTemplate

__all__ = ["StackTemplate", "stack_template"]

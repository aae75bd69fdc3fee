"""The model of a service, created from its options and from settings that are not passed to other processes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..state import ServiceOptions
from . import ConverseModel, make_model


def model_of(options: ServiceOptions, settings: Mapping[str, str]) -> ConverseModel:
    """Create the model while its settings are in the environment; processes that start later do not inherit them."""
    added = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(added)
    try:
        return make_model(options.model, options.profile, options.model_url)
    finally:
        for name in added:
            del os.environ[name]

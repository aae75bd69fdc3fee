"""A Bedrock agent with successors, made once for the tests that compare them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from parity_agents import WeatherScene, weather_scene


@pytest.fixture(scope="package")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeatherScene]:
    """A Bedrock agent, a successor that behaves alike, and one that asks for a city other than Rome."""
    with weather_scene(tmp_path_factory.mktemp("weather")) as scene:
        yield scene

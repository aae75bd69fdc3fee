"""What Bedrock's control plane says about a model: here each id is answered by the service's own model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..resources import Place

_LONGEST_NAME: Final = 20  # the service model's limit
_PROVIDERS: Final = {"ai21": "AI21 Labs", "mistral": "Mistral AI", "stability": "Stability AI"}


class ModelCatalog:
    """Answers GetFoundationModel, which readers of configurations ask about the models that these name."""

    async def get_foundation_model(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Describe a model by its id: any id of the form `provider.model` is one here."""
        model_id = str(parameters["modelIdentifier"]).rpartition("/")[2]
        provider, _, name = model_id.partition(".")
        embeds = "embed" in name
        return {
            "modelDetails": {
                "modelArn": f"arn:aws:bedrock:{place.region}::foundation-model/{model_id}",
                "modelId": model_id,
                "modelName": name[:_LONGEST_NAME],
                "providerName": _PROVIDERS.get(provider, provider.capitalize()),
                "inputModalities": ["TEXT"],
                "outputModalities": ["EMBEDDING" if embeds else "TEXT"],
                "responseStreamingSupported": not embeds,
                "customizationsSupported": [],
                "inferenceTypesSupported": ["ON_DEMAND"],
                "modelLifecycle": {"status": "ACTIVE"},
            }
        }

"""Models in Bedrock's control plane; locally, the service's own model answers for every id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..resources import Place
from ..wire import invalid, not_found

_LONGEST_NAME: Final = 20  # the service model's limit
_LONGEST_PROFILE_NAME: Final = 64
_GEOGRAPHIES: Final = ("apac", "au", "ca", "eu", "global", "jp", "us", "us-gov")
_PROVIDERS: Final = {"ai21": "AI21 Labs", "mistral": "Mistral AI", "stability": "Stability AI"}
_LISTED: Final = {
    "anthropic.claude-3-haiku-20240307-v1:0": "Claude 3 Haiku",
    "anthropic.claude-3-5-haiku-20241022-v1:0": "Claude 3.5 Haiku",
    "anthropic.claude-sonnet-4-20250514-v1:0": "Claude Sonnet 4",
    "anthropic.claude-sonnet-4-5-20250929-v1:0": "Claude Sonnet 4.5",
    "anthropic.claude-haiku-4-5-20251001-v1:0": "Claude Haiku 4.5",
    "amazon.nova-micro-v1:0": "Nova Micro",
    "amazon.nova-lite-v1:0": "Nova Lite",
    "amazon.nova-pro-v1:0": "Nova Pro",
    "amazon.nova-premier-v1:0": "Nova Premier",
    "meta.llama3-8b-instruct-v1:0": "Llama 3 8B Instruct",
    "meta.llama3-70b-instruct-v1:0": "Llama 3 70B Instruct",
    "meta.llama3-3-70b-instruct-v1:0": "Llama 3.3 70B",
    "amazon.titan-embed-text-v1": "Titan Embeddings G1",
    "amazon.titan-embed-text-v2:0": "Titan Embeddings V2",
    "cohere.embed-english-v3": "Embed English",
    "cohere.embed-multilingual-v3": "Embed Multilingual",
}
"""The models that Converse and InvokeModel both support in their own formats; Converse accepts every other id too."""


class ModelCatalog:
    """Describes models and inference profiles; `loom status` shows which model answers here."""

    async def list_foundation_models(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """List the models whose request formats are supported, with AWS's filters."""
        summaries = [_describe(model_id, place) for model_id in _LISTED]
        provider, custom = str(parameters.get("byProvider", "")), parameters.get("byCustomizationType")
        for name, member in (("byOutputModality", "outputModalities"), ("byInferenceType", "inferenceTypesSupported")):
            if filter_value := parameters.get(name):
                summaries = [summary for summary in summaries if filter_value in summary[member]]
        if provider:
            summaries = [summary for summary in summaries if summary["providerName"].lower() == provider.lower()]
        return {"modelSummaries": [] if custom else summaries}

    async def get_foundation_model(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Describe a model by its id; any id of the form `provider.model` is valid here.

        Raises:
            RefusedError: It is the id of an inference profile (400).
        """
        model_id = str(parameters["modelIdentifier"]).rpartition("/")[2]
        if model_id.partition(".")[0] in _GEOGRAPHIES:
            raise invalid(f"{model_id} is the id of an inference profile and not of a model: use GetInferenceProfile")
        return {"modelDetails": _describe(model_id, place)}

    async def get_inference_profile(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Describe a system-defined profile by its id or ARN, `us.provider.model`; here it routes to its own region.

        Raises:
            RefusedError: The id is of another form (404).
        """
        identity = str(parameters["inferenceProfileIdentifier"]).rpartition("/")[2]
        geography, _, model_id = identity.partition(".")
        if "." not in model_id:
            raise not_found(f"Inference profile not found: {identity}")
        return {
            "inferenceProfileName": f"{geography.upper()} {_LISTED.get(model_id, model_id)}"[:_LONGEST_PROFILE_NAME],
            "inferenceProfileArn": f"arn:aws:bedrock:{place.region}:{place.account_id}:inference-profile/{identity}",
            "inferenceProfileId": identity,
            "models": [{"modelArn": _describe(model_id, place)["modelArn"]}],
            "status": "ACTIVE",
            "type": "SYSTEM_DEFINED",
        }


def _describe(model_id: str, place: Place) -> dict[str, Any]:
    provider, _, name = model_id.partition(".")
    embeds = "embed" in name
    return {
        "modelArn": f"arn:aws:bedrock:{place.region}::foundation-model/{model_id}",
        "modelId": model_id,
        "modelName": _LISTED.get(model_id, name)[:_LONGEST_NAME],
        "providerName": _PROVIDERS.get(provider, provider.capitalize()),
        "inputModalities": ["TEXT"],
        "outputModalities": ["EMBEDDING" if embeds else "TEXT"],
        "responseStreamingSupported": not embeds,
        "customizationsSupported": [],
        "inferenceTypesSupported": ["ON_DEMAND"],
        "modelLifecycle": {"status": "ACTIVE"},
    }

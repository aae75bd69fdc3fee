"""The foundation models behind inference profiles, by their ARNs."""

from __future__ import annotations

from collections.abc import Iterable

from loomlib.errors import AwsError

from .bedrock_models import identifier_kind
from .connection import Clients
from .errors import translated


def profile_models(clients: Clients, identifiers: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the ARNs of the models behind each inference profile; profiles that cannot be read are left out.

    Args:
        clients: The AWS clients of a connection.
        identifiers: Ids and ARNs of models; only those of inference profiles are read.
    """
    model_arns: dict[str, tuple[str, ...]] = {}
    for identifier in dict.fromkeys(identifiers):
        if identifier_kind(identifier) != "inference profile":
            continue
        try:
            with translated("Reading the inference profile", on=identifier):
                profile = clients.client("bedrock").get_inference_profile(inferenceProfileIdentifier=identifier)
        except AwsError:  # the policy then derives the models from the profile's name
            continue
        model_arns[identifier] = tuple(sorted(str(model["modelArn"]) for model in profile["models"]))
    return model_arns

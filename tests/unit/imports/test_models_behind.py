"""The foundation models behind what an agent names, read through boto3 and checked against the service's model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.stub import Stubber

from loomlib.aws import Clients, Connection
from loomlib.aws.bedrock_models import identify_model

PREFIX = "arn:aws:bedrock:us-east-1:123456789012"
NOVA, HAIKU = "amazon.nova-pro-v1:0", "anthropic.claude-haiku-4-5-20251001-v1:0"
AT = datetime(2026, 1, 1, tzinfo=UTC)


def model_arn(model_id: str, region: str = "us-east-1") -> str:
    return f"arn:aws:bedrock:{region}::foundation-model/{model_id}"


@pytest.fixture
def clients() -> Iterator[Clients]:
    environment = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
    with closing(Clients(Connection(environment=environment))) as opened:
        yield opened


@pytest.fixture
def bedrock(clients: Clients) -> Iterator[Stubber]:
    """Answers requests that botocore has checked against the service's model, as it checks the answers."""
    with Stubber(clients.client("bedrock")) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def profile(identity: str, *models: str) -> dict[str, Any]:
    return {
        "inferenceProfileName": "US",
        "inferenceProfileArn": f"{PREFIX}:inference-profile/{identity}",
        "inferenceProfileId": identity,
        "models": [{"modelArn": arn} for arn in models],
        "status": "ACTIVE",
        "type": "SYSTEM_DEFINED",
    }


def test_a_foundation_model_is_asked_of_nobody(clients: Clients, bedrock: Stubber) -> None:
    for identifier in (NOVA, model_arn(NOVA)):
        model = identify_model(clients, identifier)
        assert (model.kind, model.model_ids, model.problem) == ("foundation model", (NOVA,), "")


def test_an_inference_profile_names_one_model_in_several_regions(clients: Clients, bedrock: Stubber) -> None:
    identity = f"us.{NOVA}"
    answer = profile(identity, model_arn(NOVA), model_arn(NOVA, "us-west-2"))
    bedrock.add_response("get_inference_profile", answer, {"inferenceProfileIdentifier": identity})
    model = identify_model(clients, identity)
    assert (model.kind, model.model_ids) == ("inference profile", (NOVA,))


def test_a_prompt_router_routes_to_profiles_which_route_to_models(clients: Clients, bedrock: Stubber) -> None:
    router, inner = f"{PREFIX}:prompt-router/abc", f"{PREFIX}:inference-profile/us.{HAIKU}"
    answer = {
        "promptRouterName": "router",
        "routingCriteria": {"responseQualityDifference": 25},
        "promptRouterArn": router,
        "models": [{"modelArn": inner}, {"modelArn": model_arn(NOVA)}],
        "fallbackModel": {"modelArn": model_arn(NOVA)},
        "status": "AVAILABLE",
        "type": "custom",
    }
    bedrock.add_response("get_prompt_router", answer, {"promptRouterArn": router})
    bedrock.add_response(
        "get_inference_profile", profile(f"us.{HAIKU}", model_arn(HAIKU)), {"inferenceProfileIdentifier": inner}
    )
    model = identify_model(clients, router)
    assert (model.kind, model.model_ids) == ("prompt router", (NOVA, HAIKU))


def test_provisioned_throughput_and_custom_models_have_a_base_model(clients: Clients, bedrock: Stubber) -> None:
    throughput = f"{PREFIX}:provisioned-model/abcdefghijkl"
    custom = f"{PREFIX}:custom-model/amazon.nova-pro-v1:0:300k/abcdefghijkl"
    deployment = f"{PREFIX}:custom-model-deployment/abcdefghijkl"
    bedrock.add_response(
        "get_provisioned_model_throughput",
        {
            "modelUnits": 1,
            "desiredModelUnits": 1,
            "provisionedModelName": "pt",
            "provisionedModelArn": throughput,
            "modelArn": model_arn(NOVA),
            "desiredModelArn": model_arn(NOVA),
            "foundationModelArn": model_arn(NOVA),
            "status": "InService",
            "creationTime": AT,
            "lastModifiedTime": AT,
        },
        {"provisionedModelId": throughput},
    )
    assert identify_model(clients, throughput).model_ids == (NOVA,)
    bedrock.add_response(
        "get_custom_model_deployment",
        {
            "customModelDeploymentArn": deployment,
            "modelDeploymentName": "d",
            "modelArn": custom,
            "createdAt": AT,
            "status": "Active",
        },
        {"customModelDeploymentIdentifier": deployment},
    )
    bedrock.add_response(
        "get_custom_model",
        {"modelArn": custom, "modelName": "m", "creationTime": AT, "baseModelArn": model_arn(NOVA)},
        {"modelIdentifier": custom},
    )
    assert identify_model(clients, deployment).model_ids == (NOVA,)
    imported = identify_model(clients, f"{PREFIX}:imported-model/abcdefghijkl")
    assert (imported.kind, imported.model_ids, imported.problem) == ("custom model", (), "")


def test_what_may_not_be_read_is_a_problem(clients: Clients, bedrock: Stubber) -> None:
    bedrock.add_client_error("get_inference_profile", "AccessDeniedException", "no", 403)
    model = identify_model(clients, f"eu.{NOVA}")
    assert (model.kind, model.model_ids) == ("inference profile", ())
    assert "AccessDeniedException" in model.problem
    assert identify_model(clients, "").model_ids == ()

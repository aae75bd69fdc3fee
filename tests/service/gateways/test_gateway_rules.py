"""Rules of gateways: kept as resources, and applied to requests of HTTP targets."""

from __future__ import annotations

import secrets
import uuid
from collections import Counter
from typing import Any

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from http_servers import HttpServer

SESSION = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"
BUNDLE = "arn:aws:bedrock-agentcore:us-east-1:123456789012:configuration-bundle/prompts-aaaaaaaaaa"
VERSIONS = ("11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222")


def to(target: str) -> dict[str, Any]:
    return {"routeToTarget": {"staticRoute": {"targetName": target}}}


def split(*weights: int, **more: Any) -> dict[str, Any]:
    names = ("stable", "canary")
    entries = [
        {"name": name, "targetName": name, "weight": weight, **more}
        for name, weight in zip(names, weights, strict=True)
    ]
    return {"routeToTarget": {"weightedRoute": {"trafficSplit": entries}}}


def pinned(version: str, arn: str = BUNDLE) -> dict[str, Any]:
    return {"configurationBundle": {"staticOverride": {"bundleArn": arn, "bundleVersion": version}}}


def path(target: str) -> dict[str, Any]:
    return {"matchPaths": {"anyOf": [f"/{target}/*"]}}


def principal(arn: str, **more: str) -> dict[str, Any]:
    return {"matchPrincipals": {"anyOf": [{"iamPrincipal": {"arn": arn, **more}}]}}


@pytest.fixture
def front(make_gateway: Any, http_api: HttpServer) -> Any:
    """A gateway with two HTTP targets."""
    gateway = make_gateway()
    for name in ("stable", "canary"):
        gateway.add_server(name, f"{http_api.url}/{name}")
    return gateway


def add(gateway: Any, priority: int, *actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return gateway.aws.control.create_gateway_rule(
        gatewayIdentifier=gateway.id, priority=priority, actions=list(actions), **more
    )


def ask(gateway: Any, target: str = "stable", **headers: str) -> dict[str, Any]:
    header_fields = {name.replace("_", "-"): text for name, text in headers.items()}
    return requests.get(f"{gateway.base}/{target}/x", headers=header_fields, timeout=60).json()


def reached(gateway: Any, target: str = "stable", **headers: str) -> str:
    return ask(gateway, target, **headers)["path"].split("/")[1]


def test_rules_are_created_read_changed_and_deleted(front: Any) -> None:
    control, gateway_ref = front.aws.control, {"gatewayIdentifier": front.id}
    token = uuid.uuid4().hex * 2
    rule = add(front, 100, to("canary"), conditions=[path("stable")], description="all", clientToken=token)
    assert (rule["status"], rule["priority"], len(rule["ruleId"])) == ("CREATING", 100, 36)
    again = add(front, 100, to("canary"), conditions=[path("stable")], description="all", clientToken=token)
    assert again["ruleId"] == rule["ruleId"]
    rule_ref = {**gateway_ref, "ruleId": rule["ruleId"]}
    description = control.get_gateway_rule(**rule_ref)
    assert (description["status"], description["actions"], description["conditions"]) == (
        "ACTIVE",
        [to("canary")],
        [path("stable")],
    )
    changed = control.update_gateway_rule(**rule_ref, priority=200, conditions=[])
    assert (changed["status"], changed["priority"], changed["description"]) == ("UPDATING", 200, "all")
    other = add(front, 100, pinned(VERSIONS[0]))
    with pytest.raises(control.exceptions.ConflictException):
        control.update_gateway_rule(**rule_ref, priority=100)
    assert {item["ruleId"] for item in control.list_gateway_rules(**gateway_ref)["gatewayRules"]} == {
        rule["ruleId"],
        other["ruleId"],
    }
    assert control.delete_gateway_rule(**rule_ref)["status"] == "DELETING"
    with pytest.raises(control.exceptions.ResourceNotFoundException):
        control.get_gateway_rule(**rule_ref)
    assert [item["ruleId"] for item in control.list_gateway_rules(**gateway_ref)["gatewayRules"]] == [other["ruleId"]]


@pytest.mark.parametrize(
    ("actions", "conditions", "message"),
    [
        ([to("none")], [], "has no HTTP target none"),
        ([to("stable")], [path("none")], "has no HTTP target none"),
        ([to("stable")], [path("converse")], "reserved"),
        ([to("stable"), to("canary")], [], "at most one action routeToTarget"),
        ([split(60, 30)], [], "add up to 100"),
        ([split(50, 50, model="m")], [], "model of a rule's route"),
        ([pinned(VERSIONS[0], BUNDLE.replace("123456789012", "999999999999"))], [], "gateway's account"),
        ([to("stable")], [{"matchModels": {"anyOf": [{"value": "m"}]}}], "matchModels"),
        ([to("stable")], [principal("a user")], "iamPrincipal.arn must match"),
    ],
)
def test_a_rule_that_cannot_be_served_is_refused(
    front: Any, actions: list[dict[str, Any]], conditions: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(ClientError, match=message):
        add(front, 1, *actions, conditions=conditions)


def test_a_gateway_has_at_most_twenty_rules(front: Any) -> None:
    for priority in range(1, 21):
        add(front, priority, pinned(VERSIONS[0]))
    with pytest.raises(front.aws.control.exceptions.ServiceQuotaExceededException, match="at most 20 rules"):
        add(front, 21, pinned(VERSIONS[0]))


def test_each_kind_of_action_is_that_of_the_first_rule_that_matches(front: Any) -> None:
    add(front, 1_000_000, pinned(VERSIONS[1]), to("stable"))
    add(front, 200, to("canary"), conditions=[path("canary")])
    add(front, 100, pinned(VERSIONS[0]), conditions=[path("canary")])
    foreign = f"aws.agentcore.configbundle_arn={BUNDLE},team=a"
    echo = ask(front, "canary", baggage=foreign)
    assert echo["path"] == "/canary/x"
    keys = "aws.agentcore.configbundle"
    assert echo["headers"]["baggage"] == f"team=a,{keys}_arn={BUNDLE},{keys}_version={VERSIONS[0]}"
    assert VERSIONS[1] in ask(front)["headers"]["baggage"]


def test_a_rule_is_about_principals_whose_signature_is_verified(make_gateway: Any, http_api: HttpServer) -> None:
    gateway = make_gateway("AWS_IAM")
    for name in ("stable", "canary"):
        gateway.add_server(name, f"{http_api.url}/{name}")
    role = gateway.aws.client("iam").create_role(RoleName=f"qa-{secrets.token_hex(4)}", AssumeRolePolicyDocument="{}")
    arn = role["Role"]["Arn"]
    policy = '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}'
    gateway.aws.client("iam").put_role_policy(
        RoleName=role["Role"]["RoleName"], PolicyName="all", PolicyDocument=policy
    )
    add(gateway, 1, to("canary"), conditions=[principal(arn.replace("qa-", "q?-"), operator="StringLike")])
    add(gateway, 2, to("canary"), conditions=[principal(arn.replace("qa-", "*"))])  # StringEquals, so it names nobody
    key = gateway.aws.client("sts").assume_role(RoleArn=arn, RoleSessionName="try")["Credentials"]

    def asked(credentials: Credentials) -> str:
        request = AWSRequest("GET", f"{gateway.base}/stable/x")
        SigV4Auth(credentials, "bedrock-agentcore", gateway.aws.state.region).add_auth(request)
        return requests.get(request.url, headers=dict(request.headers), timeout=60).json()["path"]

    assert asked(Credentials(key["AccessKeyId"], key["SecretAccessKey"], key["SessionToken"])) == "/canary/x"
    assert asked(Credentials(gateway.aws.state.access_key, gateway.aws.state.secret_key)) == "/stable/x"


def test_weights_decide_once_for_each_session(front: Any) -> None:
    rule = add(front, 1, split(50, 50))["ruleId"]
    sessions = [uuid.uuid4().hex * 2 for _ in range(30)]
    first = {session: reached(front, **{SESSION: session}) for session in sessions}
    assert set(first.values()) == {"stable", "canary"}  # one of 2**29 runs finds only one of them
    front.aws.control.update_gateway_rule(gatewayIdentifier=front.id, ruleId=rule, actions=[to("canary")])
    assert {session: reached(front, **{SESSION: session}) for session in sessions} == first
    assert Counter(reached(front) for _ in range(3)) == {"canary": 3}
    front.aws.control.update_gateway_rule(gatewayIdentifier=front.id, ruleId=rule, actions=[split(99, 1)])
    assert Counter(reached(front, "canary") for _ in range(20))["stable"] > 10


def test_a_target_may_name_the_header_of_its_sessions(front: Any, http_api: HttpServer) -> None:
    sticky = {"identifier": "$.AMZN_AC_GW_CONTEXT.headers.x-chat", "compositeIdentifier": ["x-user"], "timeout": 60}
    front.add_server("chat", http_api.url, passthrough={"stickinessConfiguration": sticky})
    entries = [
        {"name": f"v{number}", "weight": 50, "configurationBundle": {"bundleArn": BUNDLE, "bundleVersion": version}}
        for number, version in enumerate(VERSIONS)
    ]
    add(front, 1, {"configurationBundle": {"weightedOverride": {"trafficSplit": entries}}})

    def version(user: str, chat: str) -> str:
        return ask(front, "chat", x_chat=chat, x_user=user)["headers"]["baggage"].rpartition("=")[2]

    of_alice = {chat: version("alice", chat) for chat in map(str, range(20))}
    assert set(of_alice.values()) == set(VERSIONS)
    assert {chat: version("alice", chat) for chat in of_alice} == of_alice
    assert {chat: version("bob", chat) for chat in of_alice} != of_alice

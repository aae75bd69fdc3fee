"""`loom doctor aws`: each check against an account in AWS's forms, and against the local AgentCore."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from account_server import Account, serving
from click.testing import CliRunner

from loomlib.aws import Clients, Connection
from loomlib.aws.account_facts import foundation_model_id
from loomlib.cli.main import cli
from loomlib.workbench.account_checks import PERMISSIONS, AccountCheck, check_account

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "example", "AWS_REGION": "us-east-1"}


@pytest.fixture
def account() -> Account:
    return Account()


@pytest.fixture
def clients(account: Account) -> Iterator[Clients]:
    with serving(account) as url:
        clients = Clients(Connection(environment={**KEYS, "AWS_ENDPOINT_URL": url}))
        yield clients
        clients.close()


def checked(clients: Clients) -> dict[str, AccountCheck]:
    return {check.name: check for check in check_account(clients, models=["us.amazon.nova-pro-v1:0"])}


def test_an_account_in_order_passes_every_check(account: Account, clients: Clients) -> None:
    checks = checked(clients)
    assert {check.state for check in checks.values()} == {"passed"}, checks
    assert len(checks) == 2 + len(PERMISSIONS) + 4
    assert account.simulated == "arn:aws:iam::123456789012:role/people/Team", "with the path of the assumed role"


def test_a_missing_permission_is_named_with_its_fix(account: Account, clients: Clients) -> None:
    account.denied = {"iam:PassRole"}
    check = checked(clients)["permissions to deploy agents"]
    assert check.state == "failed"
    assert "missing: iam:PassRole" in check.seen
    assert "allow iam:PassRole in a policy of arn:aws:iam::123456789012:role/people/Team" in check.fix


def test_requests_that_change_nothing_are_tried_where_permissions_cannot_be_simulated(
    account: Account, clients: Clients
) -> None:
    account.may_simulate = False
    check = checked(clients)["permissions"]
    assert check.state == "unknown"
    assert "8 of 8 are allowed" in check.seen
    account.denied = {"DescribeLogGroups"}
    refused = checked(clients)["permissions"]
    assert (refused.state, refused.fix) == ("failed", "allow logs:DescribeLogGroups")


def test_credentials_that_expired_end_the_checks(account: Account, clients: Clients) -> None:
    account.expired = True
    names = [(check.name, check.state) for check in check_account(clients)]
    assert names == [("region", "passed"), ("credentials", "failed")]


def test_a_model_without_access_is_named(account: Account, clients: Clients) -> None:
    account.model["authorizationStatus"] = "NOT_AUTHORIZED"
    check = checked(clients)["model amazon.nova-pro-v1:0"]
    assert (check.state, check.seen) == ("failed", "the account is not authorized")


@pytest.mark.parametrize(
    ("spans", "policies", "seen"),
    [
        ({"Destination": "XRay", "Status": "ACTIVE"}, None, "it is off"),
        ({"Destination": "CloudWatchLogs", "Status": "PENDING"}, None, "it is pending"),
        ({"Destination": "CloudWatchLogs", "Status": "ACTIVE"}, [], "no CloudWatch Logs resource policy"),
    ],
)
def test_transaction_search_that_is_off_or_not_ready_is_told_apart(
    account: Account, clients: Clients, spans: dict[str, str], policies: list[dict[str, str]] | None, seen: str
) -> None:
    account.spans = spans
    account.policies = account.policies if policies is None else policies
    check = checked(clients)["Transaction Search"]
    assert check.state == "failed"
    assert seen in check.seen
    assert check.fix


def test_a_quota_of_nothing_fails(account: Account, clients: Clients) -> None:
    account.quotas = [{"QuotaName": "Total agents per account", "Value": 0.0, "Adjustable": True}]
    assert checked(clients)["quotas"].state == "failed"


def test_the_command_prints_each_check_and_ends_with_one_for_a_failure(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(account) as url:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": url}.items():
            monkeypatch.setenv(name, value)
        fine = CliRunner().invoke(cli, ["--json", "doctor", "aws"], standalone_mode=False)
        assert fine.return_value == 0, fine.output
        assert {check["state"] for check in json.loads(fine.stdout)} == {"passed"}
        account.spans = {"Destination": "XRay", "Status": "ACTIVE"}
        arguments = ["doctor", "aws", "--model", "amazon.nova-lite-v1:0"]
        result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert result.return_value == 1, result.output
    assert "FAILED   Transaction Search" in result.output
    assert "model amazon.nova-lite-v1:0" in result.output


def test_what_the_local_agentcore_does_not_have_is_unknown_and_no_failure(aws: object) -> None:
    state = aws.state  # type: ignore[attr-defined]
    clients = Clients(Connection(region=state.region, environment=state.environment()))
    checks = {check.name: check for check in check_account(clients)}
    clients.close()
    assert checks["credentials"].state == "passed"
    assert checks["log groups"].state == "passed"
    assert checks["quotas"].state == "unknown"
    assert "does not implement" in checks["quotas"].seen


def test_the_model_behind_a_profile_is_found() -> None:
    assert (
        foundation_model_id("us.anthropic.claude-sonnet-4-20250514-v1:0") == "anthropic.claude-sonnet-4-20250514-v1:0"
    )
    assert foundation_model_id("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0") == (
        "amazon.nova-pro-v1:0"
    )

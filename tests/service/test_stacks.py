"""CloudFormation stacks with AgentCore's resources."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, WaiterError
from echo_agent import ECHO_AGENT
from waiting import PATIENCE_S, wait_until

PATIENTLY = {"Delay": 1, "MaxAttempts": int(PATIENCE_S)}


def template(artifact: dict[str, Any], name: str, **more: Any) -> dict[str, Any]:
    place = artifact["codeConfiguration"]["code"]["s3"]
    return {
        "Parameters": {"Colour": {"Type": "String", "Default": "blue"}, "Days": {"Type": "Number", "Default": "30"}},
        "Resources": {
            "Agent": {
                "Type": "AWS::BedrockAgentCore::Runtime",
                "Properties": {
                    "AgentRuntimeName": name,
                    "RoleArn": "arn:aws:iam::123456789012:role/loom",
                    "NetworkConfiguration": {"NetworkMode": "PUBLIC"},
                    "ProtocolConfiguration": "HTTP",
                    "EnvironmentVariables": {
                        "Colour": {"Ref": "Colour"},
                        "MEMORY": {"Fn::GetAtt": ["Notes", "MemoryId"]},
                    },
                    "AgentRuntimeArtifact": {
                        "CodeConfiguration": {
                            "Code": {"S3": {"Bucket": place["bucket"], "Prefix": place["prefix"]}},
                            "EntryPoint": ["agent.py"],
                            "Runtime": "PYTHON_3_11",
                        }
                    },
                    **more,
                },
            },
            "Live": {
                "Type": "AWS::BedrockAgentCore::RuntimeEndpoint",
                "Properties": {"AgentRuntimeId": {"Ref": "Agent"}, "Name": "live", "AgentRuntimeVersion": "1"},
            },
            "Notes": {
                "Type": "AWS::BedrockAgentCore::Memory",
                "Properties": {
                    "Name": f"{name}_notes",
                    "EventExpiryDuration": {"Ref": "Days"},
                    "MemoryStrategies": [{"SemanticMemoryStrategy": {"Name": "facts", "Namespaces": ["/{actorId}"]}}],
                },
            },
        },
        "Outputs": {
            "Arn": {"Value": {"Fn::GetAtt": ["Agent", "AgentRuntimeArn"]}},
            "Live": {"Value": {"Ref": "Live"}},
            "Memory": {"Value": {"Ref": "Notes"}},
        },
    }


def test_a_stack_makes_changes_and_deletes_a_runtime_an_endpoint_and_a_memory(aws: Any) -> None:
    stacks, artifact = aws.client("cloudformation"), aws.upload({"agent.py": ECHO_AGENT})
    body = template(artifact, "stacked")
    stacks.create_stack(StackName="agents", TemplateBody=json.dumps(body))
    stacks.get_waiter("stack_create_complete").wait(StackName="agents", WaiterConfig=PATIENTLY)
    (stack,) = stacks.describe_stacks(StackName="agents")["Stacks"]
    outputs = {item["OutputKey"]: item["OutputValue"] for item in stack["Outputs"]}
    runtime_id = outputs["Arn"].rpartition("/")[2]
    description = aws.control.get_agent_runtime(agentRuntimeId=runtime_id)
    memory_id = outputs["Memory"].rpartition("/")[2]
    assert description["environmentVariables"] == {"Colour": "blue", "MEMORY": memory_id}
    assert aws.invoke(outputs["Arn"])[0]["statusCode"] == 200
    assert aws.invoke(outputs["Arn"], qualifier="live")[0]["statusCode"] == 200
    memory = aws.control.get_memory(memoryId=memory_id)["memory"]
    assert (memory["eventExpiryDuration"], [item["name"] for item in memory["strategies"]]) == (30, ["facts"])
    body["Resources"]["Agent"]["Properties"]["Description"] = "changed"
    stacks.update_stack(StackName="agents", TemplateBody=json.dumps(body))
    changed = aws.control.get_agent_runtime(agentRuntimeId=runtime_id)
    assert (changed["description"], changed["agentRuntimeVersion"]) == ("changed", "2")
    stacks.delete_stack(StackName="agents")
    for missing in (
        lambda: aws.control.get_agent_runtime(agentRuntimeId=runtime_id),
        lambda: aws.control.get_memory(memoryId=memory_id),
    ):
        wait_until(lambda: _is_gone(aws, missing), what="the deletion")  # noqa: B023


def _is_gone(aws: Any, read: Callable[[], object]) -> bool:
    try:
        read()
    except aws.control.exceptions.ResourceNotFoundException:
        return True
    return False


def test_a_stack_whose_runtime_is_refused_fails_and_names_the_reason(aws: Any) -> None:
    stacks, artifact = aws.client("cloudformation"), aws.upload({"agent.py": "pass"})
    body = template(artifact, "refused")
    body["Resources"]["Agent"]["Properties"]["AgentRuntimeArtifact"]["CodeConfiguration"]["Runtime"] = "COBOL"
    stacks.create_stack(StackName="refused", TemplateBody=json.dumps(body))
    with pytest.raises(WaiterError):
        stacks.get_waiter("stack_create_complete").wait(StackName="refused", WaiterConfig=PATIENTLY)
    events = stacks.describe_stack_events(StackName="refused")["StackEvents"]
    reasons = [event["ResourceStatusReason"] for event in events if event["ResourceStatus"] == "CREATE_FAILED"]
    assert any("AWS::BedrockAgentCore::Runtime" in reason and "PYTHON_3_10" in reason for reason in reasons)
    stacks.delete_stack(StackName="refused")
    names = [item["name"] for item in aws.control.list_memories()["memories"] if "name" in item]
    assert "refused_notes" not in names


def test_texts_are_converted_to_numbers_and_booleans_to_texts_as_on_aws(aws: Any) -> None:
    validation = {"NumberValidation": {"MinValue": "-0.5", "MaxValue": "1e1"}}
    field = {
        "Key": "score",
        "Type": "NUMBER",
        "ExtractionConfig": {"LlmExtractionConfig": {"Definition": "the score", "Validation": validation}},
    }
    facts = {"Name": "facts", "Namespaces": ["/{actorId}"], "MemoryRecordSchema": {"MetadataSchema": [field]}}
    properties = {
        "Name": "converted",
        "Description": True,
        "EventExpiryDuration": "30",
        "MemoryStrategies": [{"SemanticMemoryStrategy": facts}],
    }
    stacks = aws.client("cloudformation")
    notes = {"Type": "AWS::BedrockAgentCore::Memory", "Properties": properties}
    outputs = _made(stacks, "converted", {"Notes": notes}, {"Id": {"Fn::GetAtt": ["Notes", "MemoryId"]}})
    memory = aws.control.get_memory(memoryId=outputs["Id"])["memory"]
    assert (memory["description"], memory["eventExpiryDuration"]) == ("true", 30)
    (schema,) = memory["strategies"][0]["memoryRecordSchema"]["metadataSchema"]
    assert schema["extractionConfig"]["llmExtractionConfig"]["validation"]["numberValidation"] == {
        "minValue": -0.5,
        "maxValue": 10.0,
    }
    stacks.delete_stack(StackName="converted")
    properties |= {"Name": "unconverted", "EventExpiryDuration": "a month"}
    status, reason = _failure(stacks, "unconverted", json.dumps({"Resources": {"Notes": notes}}))
    assert status == "CREATE_FAILED"
    assert "must be an integer, not 'a month'" in reason


def test_a_property_that_the_type_does_not_have_is_named(aws: Any) -> None:
    stacks = aws.client("cloudformation")
    body = template(aws.upload({"agent.py": "pass"}), "misspelt", Colour="red")
    stacks.create_stack(StackName="misspelt", TemplateBody=json.dumps(body))
    events = stacks.describe_stack_events(StackName="misspelt")["StackEvents"]
    assert any("unsupported property Colour" in event.get("ResourceStatusReason", "") for event in events)
    stacks.delete_stack(StackName="misspelt")


@pytest.mark.parametrize("kind", ["AWS::BedrockAgentCore::BrowserCustom", "AWS::CloudFront::Distribution"])
def test_other_types_are_refused_by_name(aws: Any, kind: str) -> None:
    body = {"Resources": {"Other": {"Type": kind, "Properties": {"Name": "b"}}}}
    with pytest.raises(ClientError, match=rf"Unrecognized resource types: \[{kind}\]") as refused:
        aws.client("cloudformation").create_stack(StackName=kind.replace("::", "-"), TemplateBody=json.dumps(body))
    assert refused.value.response["Error"]["Code"] == "ValidationError"


def test_cdk_s_own_resource_makes_nothing(aws: Any) -> None:
    stacks = aws.client("cloudformation")
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "of-a-stack"}}
    body = {
        "Resources": {"CDKMetadata": {"Type": "AWS::CDK::Metadata", "Properties": {"Analytics": "v2"}}, "B": bucket}
    }
    stacks.create_stack(StackName="cdk", TemplateBody=json.dumps(body))
    assert stacks.describe_stacks(StackName="cdk")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
    assert aws.client("s3").head_bucket(Bucket="of-a-stack")


def _made(stacks: Any, name: str, resources: dict[str, Any], outputs: dict[str, Any]) -> dict[str, str]:
    body = {"Resources": resources, "Outputs": {key: {"Value": value} for key, value in outputs.items()}}
    stacks.create_stack(StackName=name, TemplateBody=json.dumps(body))
    (stack,) = stacks.describe_stacks(StackName=name)["Stacks"]
    events = stacks.describe_stack_events(StackName=name)["StackEvents"]
    assert stack["StackStatus"] == "CREATE_COMPLETE", [event.get("ResourceStatusReason") for event in events]
    return {item["OutputKey"]: item["OutputValue"] for item in stack["Outputs"]}


def _user_pool(**client: Any) -> dict[str, Any]:
    pool = {"UserPoolId": {"Ref": "Pool"}}
    scope = {"ScopeName": "read", "ScopeDescription": "Reads"}
    return {
        "Pool": {
            "Type": "AWS::Cognito::UserPool",
            "Properties": {
                "UserPoolName": "shoppers",
                "UsernameAttributes": ["email"],
                "MfaConfiguration": "OFF",
                "Policies": {"PasswordPolicy": {"MinimumLength": "9", "RequireSymbols": "false"}},
                "UserPoolTags": {"shop": "north"},
            },
        },
        "Domain": {"Type": "AWS::Cognito::UserPoolDomain", "Properties": {**pool, "Domain": "shoppers"}},
        "Server": {
            "Type": "AWS::Cognito::UserPoolResourceServer",
            "Properties": {**pool, "Identifier": "shop", "Name": "Shop", "Scopes": [scope]},
        },
        "Client": {
            "Type": "AWS::Cognito::UserPoolClient",
            "DependsOn": "Server",
            "Properties": {
                **pool,
                "GenerateSecret": True,
                "AllowedOAuthFlows": ["client_credentials"],
                "AllowedOAuthFlowsUserPoolClient": True,
                "AllowedOAuthScopes": ["shop/read"],
                **client,
            },
        },
        "Clerks": {"Type": "AWS::Cognito::UserPoolGroup", "Properties": {**pool, "GroupName": "clerks"}},
        "Ana": {
            "Type": "AWS::Cognito::UserPoolUser",
            "Properties": {**pool, "Username": "ana@example.org", "MessageAction": "SUPPRESS"},
        },
        "AnaIsClerk": {
            "Type": "AWS::Cognito::UserPoolUserToGroupAttachment",
            "Properties": {**pool, "Username": {"Ref": "Ana"}, "GroupName": {"Ref": "Clerks"}},
        },
    }


def test_a_stack_makes_changes_and_deletes_a_user_pool_whose_tokens_are_accepted(aws: Any) -> None:
    stacks, cognito = aws.client("cloudformation"), aws.client("cognito-idp")
    resources, url = _user_pool(), {"Fn::GetAtt": ["Pool", "ProviderURL"]}
    outputs = _made(
        stacks,
        "pool",
        resources,
        {
            "Pool": {"Ref": "Pool"},
            "Arn": {"Fn::GetAtt": ["Pool", "Arn"]},
            "Url": url,
            "Client": {"Ref": "Client"},
            "Secret": {"Fn::GetAtt": ["Client", "ClientSecret"]},
        },
    )
    pool_id, client_id = outputs["Pool"], outputs["Client"]
    pool = cognito.describe_user_pool(UserPoolId=pool_id)["UserPool"]
    assert (pool["Name"], pool["Arn"], pool["UserPoolTags"]) == ("shoppers", outputs["Arn"], {"shop": "north"})
    assert pool["Policies"]["PasswordPolicy"]["MinimumLength"] == 9
    client = cognito.describe_user_pool_client(UserPoolId=pool_id, ClientId=client_id)["UserPoolClient"]
    assert client["ClientSecret"] == outputs["Secret"]
    assert client["ClientName"].startswith("pool-Client-")
    (group,) = cognito.admin_list_groups_for_user(UserPoolId=pool_id, Username="ana@example.org")["Groups"]
    assert group["GroupName"] == "clerks"
    assert cognito.describe_user_pool_domain(Domain="shoppers")["DomainDescription"]["UserPoolId"] == pool_id
    runtime = aws.create(
        "of_shoppers",
        aws.upload({"agent.py": ECHO_AGENT}),
        authorizerConfiguration={
            "customJWTAuthorizer": {
                "discoveryUrl": f"{outputs['Url']}/.well-known/openid-configuration",
                "allowedClients": [client_id],
            }
        },
    )
    assert runtime["status"] in ("CREATING", "READY")
    resources["Client"]["Properties"]["AllowedOAuthScopes"] = []
    stacks.update_stack(StackName="pool", TemplateBody=json.dumps({"Resources": resources}))
    client = cognito.describe_user_pool_client(UserPoolId=pool_id, ClientId=client_id)["UserPoolClient"]
    assert client["AllowedOAuthScopes"] == []
    stacks.delete_stack(StackName="pool")
    with pytest.raises(cognito.exceptions.ResourceNotFoundException):
        cognito.describe_user_pool(UserPoolId=pool_id)


def test_a_user_pool_s_client_that_cognito_refuses_fails_the_stack(aws: Any) -> None:
    stacks, resources = aws.client("cloudformation"), _user_pool(AccessTokenValidity="soon")
    stacks.create_stack(StackName="soon", TemplateBody=json.dumps({"Resources": resources}))
    (stack,) = stacks.describe_stacks(StackName="soon")["Stacks"]
    assert stack["StackStatus"] == "CREATE_FAILED"
    assert "AWS::Cognito::UserPoolClient" in stack["StackStatusReason"]
    assert "AccessTokenValidity" in stack["StackStatusReason"]
    stacks.delete_stack(StackName="soon")


def test_a_stack_makes_projects_secrets_deliveries_policies_and_gateways(aws: Any) -> None:
    stacks, s3 = aws.client("cloudformation"), aws.client("s3")
    log_group, policy = "/aws/vendedlogs/of-a-stack", {"Version": "2012-10-17", "Statement": []}
    outputs = _made(
        stacks,
        "others",
        {
            "Builder": {
                "Type": "AWS::CodeBuild::Project",
                "Properties": {
                    "Artifacts": {"Type": "NO_ARTIFACTS"},
                    "Environment": {
                        "Type": "ARM_CONTAINER",
                        "ComputeType": "BUILD_GENERAL1_LARGE",
                        "Image": "aws/codebuild/amazonlinux2-aarch64-standard:3.0",
                        "PrivilegedMode": True,
                        "EnvironmentVariables": [{"Name": "COLOUR", "Value": "blue"}],
                    },
                    "ServiceRole": "arn:aws:iam::123456789012:role/build",
                    "Source": {"Type": "S3", "Location": "code/agent.zip", "BuildSpec": "version: 0.2"},
                    "Tags": [{"Key": "shop", "Value": "north"}],
                    "TimeoutInMinutes": 60,
                },
            },
            "Password": {
                "Type": "AWS::SecretsManager::Secret",
                "Properties": {
                    "Name": "of-a-stack",
                    "GenerateSecretString": {
                        "SecretStringTemplate": '{"user": "ana"}',
                        "GenerateStringKey": "password",
                        "PasswordLength": 20,
                    },
                },
            },
            "Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "with-policy"}},
            "Policy": {
                "Type": "AWS::S3::BucketPolicy",
                "Properties": {"Bucket": {"Ref": "Bucket"}, "PolicyDocument": policy},
            },
            "Notes": {
                "Type": "AWS::BedrockAgentCore::Memory",
                "Properties": {"Name": "delivered_notes", "EventExpiryDuration": 30},
            },
            "Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": log_group}},
            "From": {
                "Type": "AWS::Logs::DeliverySource",
                "Properties": {
                    "Name": "notes-logs",
                    "LogType": "APPLICATION_LOGS",
                    "ResourceArn": {"Fn::GetAtt": ["Notes", "MemoryArn"]},
                },
            },
            "To": {
                "Type": "AWS::Logs::DeliveryDestination",
                "Properties": {"Name": "notes-group", "DestinationResourceArn": {"Fn::GetAtt": ["Group", "Arn"]}},
            },
            "Delivery": {
                "Type": "AWS::Logs::Delivery",
                "DependsOn": "From",
                "Properties": {
                    "DeliverySourceName": "notes-logs",
                    "DeliveryDestinationArn": {"Fn::GetAtt": ["To", "Arn"]},
                },
            },
            "Gateway": {
                "Type": "AWS::BedrockAgentCore::Gateway",
                "Properties": {
                    "Name": "of-a-stack",
                    "AuthorizerType": "AWS_IAM",
                    "ProtocolType": "MCP",
                    "RoleArn": "arn:aws:iam::123456789012:role/gateway",
                },
            },
            "Workload": {"Type": "AWS::BedrockAgentCore::WorkloadIdentity", "Properties": {"Name": "of-a-stack"}},
        },
        {
            "Project": {"Ref": "Builder"},
            "Gateway": {"Fn::GetAtt": ["Gateway", "GatewayIdentifier"]},
            "Delivery": {"Ref": "Delivery"},
        },
    )
    (project,) = aws.client("codebuild").batch_get_projects(names=[outputs["Project"]])["projects"]
    assert project["environment"]["environmentVariables"][0]["name"] == "COLOUR"
    secret = json.loads(aws.client("secretsmanager").get_secret_value(SecretId="of-a-stack")["SecretString"])
    assert (secret["user"], len(secret["password"])) == ("ana", 20)
    assert json.loads(s3.get_bucket_policy(Bucket="with-policy")["Policy"]) == policy
    delivery = aws.client("logs").get_delivery(id=outputs["Delivery"])["delivery"]
    assert delivery["deliverySourceName"] == "notes-logs"
    assert aws.control.get_gateway(gatewayIdentifier=outputs["Gateway"])["status"] == "READY"
    assert aws.control.get_workload_identity(name="of-a-stack")["name"] == "of-a-stack"
    stacks.delete_stack(StackName="others")
    with pytest.raises(aws.control.exceptions.ResourceNotFoundException):
        aws.control.get_gateway(gatewayIdentifier=outputs["Gateway"])
    assert aws.client("codebuild").batch_get_projects(names=[outputs["Project"]])["projects"] == []


@pytest.mark.parametrize("kind", ["Custom::Build", "AWS::CloudFormation::CustomResource"])
def test_a_custom_resource_fails_its_stack_and_names_the_operation(aws: Any, kind: str) -> None:
    stacks, name = aws.client("cloudformation"), kind.replace("::", "-")
    token = "arn:aws:lambda:us-east-1:123456789012:function:build"
    body = {
        "Resources": {
            "Topic": {"Type": "AWS::SNS::Topic", "DependsOn": ["Build"], "Properties": {"TopicName": name}},
            "Build": {"Type": kind, "Properties": {"ServiceToken": token}},
        },
        "Outputs": {"Topic": {"Value": {"Ref": "Topic"}, "Export": {"Name": f"{name}-topic"}}},
    }
    stacks.create_stack(StackName=name, TemplateBody=json.dumps(body))
    (stack,) = stacks.describe_stacks(StackName=name)["Stacks"]
    assert stack["StackStatus"] == "CREATE_FAILED"
    assert stack["StackStatusReason"].startswith(f"Build ({kind}): ")
    assert "lambda:Invoke" in stack["StackStatusReason"]
    topics = aws.client("sns").list_topics()["Topics"]
    assert not [topic for topic in topics if topic["TopicArn"].endswith(f":{name}")]
    stacks.delete_stack(StackName=name)


def _failure(stacks: Any, name: str, body: str) -> tuple[str, str]:
    stacks.create_stack(StackName=name, TemplateBody=body)
    (stack,) = stacks.describe_stacks(StackName=name)["Stacks"]
    stacks.delete_stack(StackName=name)
    return stack["StackStatus"], stack["StackStatusReason"]


def test_a_resource_that_its_service_refuses_fails_the_stack_and_what_follows_is_not_made(aws: Any) -> None:
    stacks, parameters = aws.client("cloudformation"), aws.client("ssm")
    parameters.put_parameter(Name="/taken", Value="1", Type="String")
    body = {
        "Resources": {
            "Taken": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/taken", "Type": "String", "Value": "2"}},
            "Topic": {
                "Type": "AWS::SNS::Topic",
                "DependsOn": "Taken",
                "Properties": {"TopicName": "after-taken", "DisplayName": {"Ref": "Taken"}},
            },
        },
        "Outputs": {"Taken": {"Value": {"Ref": "Taken"}, "Export": {"Name": "taken-of-a-stack"}}},
    }
    status, reason = _failure(stacks, "taken", json.dumps(body))
    assert status == "CREATE_FAILED"
    assert reason.startswith("Taken (AWS::SSM::Parameter): ")
    assert "already exists" in reason
    topics = aws.client("sns").list_topics()["Topics"]
    assert not [topic for topic in topics if topic["TopicArn"].endswith(":after-taken")]
    assert parameters.get_parameter(Name="/taken")["Parameter"]["Value"] == "1"


def test_a_type_that_nothing_implements_is_refused_before_anything_is_made(aws: Any) -> None:
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "before-refused"}}
    body = {"Resources": {"Bucket": bucket, "Site": {"Type": "AWS::CloudFront::Distribution", "Properties": {}}}}
    stacks = aws.client("cloudformation")
    with pytest.raises(ClientError, match="Unrecognized resource types"):
        stacks.create_stack(StackName="before", TemplateBody=json.dumps(body))
    assert "before-refused" not in [item["Name"] for item in aws.client("s3").list_buckets()["Buckets"]]
    with pytest.raises(ClientError, match="does not exist"):
        stacks.describe_stacks(StackName="before")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("Resources:\n  A:\n    Type: AWS::SNS::Topic\n   B: 1\n", r"YAML not well-formed\. \(line 4, column "),
        ('{"Resources": {"A": }', "JSON not well-formed"),
        ("- a list", "unsupported structure"),
    ],
)
def test_a_malformed_template_is_refused_as_a_template_format_error(aws: Any, body: str, why: str) -> None:
    with pytest.raises(ClientError, match=f"Template format error: {why}") as refused:
        aws.client("cloudformation").create_stack(StackName="malformed", TemplateBody=body)
    assert refused.value.response["Error"]["Code"] == "ValidationError"


def test_lists_by_default_and_tags_of_parameters_and_keys_are_read_as_aws_does(aws: Any) -> None:
    resources = _user_pool(AllowedOAuthScopes={"Ref": "Scopes"})
    resources["Name"] = {
        "Type": "AWS::SSM::Parameter",
        "Properties": {
            "Name": "/tagged",
            "Type": "String",
            "Value": {"Ref": "Client"},
            "Tags": {"Application": "Shop"},
        },
    }
    resources["Key"] = {
        "Type": "AWS::KMS::Key",
        "Properties": {"KeyPolicy": {"Statement": []}, "Tags": [{"Key": "Application", "Value": "Shop"}]},
    }
    body = {
        "Parameters": {"Scopes": {"Type": "CommaDelimitedList", "Default": "shop/read, openid"}},
        "Resources": resources,
        "Outputs": {"Pool": {"Value": {"Ref": "Pool"}}, "Client": {"Value": {"Ref": "Client"}}},
    }
    stacks = aws.client("cloudformation")
    stacks.create_stack(StackName="lists", TemplateBody=json.dumps(body))
    (stack,) = stacks.describe_stacks(StackName="lists")["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE", stack.get("StackStatusReason")
    outputs = {item["OutputKey"]: item["OutputValue"] for item in stack["Outputs"]}
    client = aws.client("cognito-idp").describe_user_pool_client(UserPoolId=outputs["Pool"], ClientId=outputs["Client"])
    assert client["UserPoolClient"]["AllowedOAuthScopes"] == ["shop/read", "openid"]
    assert aws.client("ssm").get_parameter(Name="/tagged")["Parameter"]["Value"] == outputs["Client"]
    stacks.delete_stack(StackName="lists")

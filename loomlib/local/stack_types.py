"""CloudFormation resource types that service operations create: AgentCore's, and others that moto lacks.

Source: AWS CloudFormation template reference; the members of operations: botocore's service models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

AGENTCORE: Final = "bedrock-agentcore-control"

OperationCall = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Calls an operation of a type's service, given its name and parameters."""


def _as_they_are(properties: Mapping[str, Any], call: OperationCall) -> Mapping[str, Any]:
    return properties


@dataclass(frozen=True, slots=True, kw_only=True)
class StackType:
    """A type of resource in templates.

    Attributes:
        name: The type's name.
        service: The service, as botocore names it, whose operations manage the resource.
        create: The operation that creates it. Its parameters are the template's properties, with a lower-case first
            letter if the operation uses one.
        delete: The operation that deletes it; "" if it is deleted with its parent resource.
        update: The operation that changes it; "" if a changed template is refused.
        read: The operation that returns its status; "" if it can be used as soon as it is created.
        name_property: The property with the resource's name, which CloudFormation generates if it is optional and
            missing; "" for a type without one.
        keys: The parameters with which the other operations identify it, each with the attribute of the created
            resource.
        deletion: Further parameters of the operation that deletes it.
        ref: The attribute that `Ref` returns.
        inside: The member of the operations' answers that holds the resource; "" when it is the answer itself.
        attributes: The attributes of `Fn::GetAtt`, each with the attribute of the created resource that has its value,
            or a text with such attributes, `region` and `account_id` in braces.
        arrange: Converts properties that differ from the operation's parameters.
    """

    name: str
    service: str = AGENTCORE
    create: str
    delete: str = ""
    update: str = ""
    read: str = ""
    name_property: str = ""
    keys: Mapping[str, str]
    deletion: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ref: str
    inside: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    arrange: Callable[[Mapping[str, Any], OperationCall], Mapping[str, Any]] = _as_they_are


def _renamed(**names: str) -> Callable[[Mapping[str, Any], OperationCall], Mapping[str, Any]]:
    def arrange(properties: Mapping[str, Any], call: OperationCall) -> Mapping[str, Any]:
        return {names.get(name, name): value for name, value in properties.items()}

    return arrange


def _policy_as_text(properties: Mapping[str, Any], call: OperationCall) -> Mapping[str, Any]:
    rest = {name: value for name, value in properties.items() if name != "PolicyDocument"}
    return rest | {"Policy": json.dumps(properties.get("PolicyDocument"))}


def _destination(properties: Mapping[str, Any], call: OperationCall) -> Mapping[str, Any]:
    rest = {name: value for name, value in properties.items() if name != "DestinationResourceArn"}
    arn = properties.get("DestinationResourceArn")
    return rest | ({"DeliveryDestinationConfiguration": {"DestinationResourceArn": arn}} if arn else {})


def _secret(properties: Mapping[str, Any], call: OperationCall) -> Mapping[str, Any]:
    rest = {name: value for name, value in properties.items() if name != "GenerateSecretString"}
    if (options := properties.get("GenerateSecretString")) is None:
        return rest
    own = ("SecretStringTemplate", "GenerateStringKey")
    password = call("GetRandomPassword", {name: value for name, value in options.items() if name not in own})
    text = str(password["RandomPassword"])
    if key := options.get("GenerateStringKey"):
        text = json.dumps(json.loads(options.get("SecretStringTemplate") or "{}") | {key: text})
    return rest | {"SecretString": text}


def _outgoing_rule(properties: Mapping[str, Any], call: OperationCall) -> Mapping[str, Any]:
    ends = {
        "CidrIp": ("IpRanges", "CidrIp"),
        "CidrIpv6": ("Ipv6Ranges", "CidrIpv6"),
        "DestinationPrefixListId": ("PrefixListIds", "PrefixListId"),
        "DestinationSecurityGroupId": ("UserIdGroupPairs", "GroupId"),
    }
    description = {"Description": properties["Description"]} if "Description" in properties else {}
    rest = {name: value for name, value in properties.items() if name not in (*ends, "GroupId", "Description")}
    destinations = {
        members: [{member: properties[name], **description}]
        for name, (members, member) in ends.items()
        if name in properties
    }
    return {"GroupId": properties.get("GroupId"), "IpPermissions": [rest | destinations]}


_OF_AGENTCORE: Final = (
    StackType(
        name="AWS::BedrockAgentCore::Runtime",
        create="CreateAgentRuntime",
        read="GetAgentRuntime",
        update="UpdateAgentRuntime",
        delete="DeleteAgentRuntime",
        name_property="AgentRuntimeName",
        keys={"agentRuntimeId": "agentRuntimeId"},
        ref="agentRuntimeId",
        attributes={
            "AgentRuntimeArn": "agentRuntimeArn",
            "AgentRuntimeId": "agentRuntimeId",
            "AgentRuntimeVersion": "agentRuntimeVersion",
            "Status": "status",
        },
    ),
    StackType(
        name="AWS::BedrockAgentCore::RuntimeEndpoint",
        create="CreateAgentRuntimeEndpoint",
        read="GetAgentRuntimeEndpoint",
        update="UpdateAgentRuntimeEndpoint",
        delete="DeleteAgentRuntimeEndpoint",
        name_property="Name",
        keys={"agentRuntimeId": "agentRuntimeId", "endpointName": "name"},
        ref="agentRuntimeEndpointArn",
        attributes={
            "AgentRuntimeArn": "agentRuntimeArn",
            "AgentRuntimeEndpointArn": "agentRuntimeEndpointArn",
            "Id": "id",
            "LiveVersion": "liveVersion",
            "Status": "status",
        },
    ),
    StackType(
        name="AWS::BedrockAgentCore::Memory",
        create="CreateMemory",
        read="GetMemory",
        delete="DeleteMemory",
        name_property="Name",
        keys={"memoryId": "id"},
        ref="arn",
        inside="memory",
        attributes={"MemoryArn": "arn", "MemoryId": "id", "Status": "status"},
    ),
    StackType(
        name="AWS::BedrockAgentCore::Gateway",
        create="CreateGateway",
        read="GetGateway",
        delete="DeleteGateway",
        name_property="Name",
        keys={"gatewayIdentifier": "gatewayId"},
        ref="gatewayId",
        attributes={
            "GatewayArn": "gatewayArn",
            "GatewayIdentifier": "gatewayId",
            "GatewayUrl": "gatewayUrl",
            "Status": "status",
        },
    ),
    StackType(
        name="AWS::BedrockAgentCore::GatewayTarget",
        create="CreateGatewayTarget",
        read="GetGatewayTarget",
        delete="DeleteGatewayTarget",
        name_property="Name",
        keys={"gatewayIdentifier": "gatewayIdentifier", "targetId": "targetId"},
        ref="targetId",
        attributes={"GatewayArn": "gatewayArn", "Status": "status", "TargetId": "targetId"},
    ),
    StackType(
        name="AWS::BedrockAgentCore::WorkloadIdentity",
        create="CreateWorkloadIdentity",
        update="UpdateWorkloadIdentity",
        delete="DeleteWorkloadIdentity",
        name_property="Name",
        keys={"name": "name"},
        ref="name",
        attributes={"WorkloadIdentityArn": "workloadIdentityArn"},
    ),
)

_OF_COGNITO: Final = (
    StackType(
        name="AWS::Cognito::UserPool",
        service="cognito-idp",
        create="CreateUserPool",
        update="UpdateUserPool",
        delete="DeleteUserPool",
        name_property="UserPoolName",
        keys={"UserPoolId": "Id"},
        ref="Id",
        inside="UserPool",
        attributes={
            "Arn": "Arn",
            "ProviderName": "cognito-idp.{region}.amazonaws.com/{Id}",
            "ProviderURL": "https://cognito-idp.{region}.amazonaws.com/{Id}",
            "UserPoolId": "Id",
        },
        arrange=_renamed(UserPoolName="PoolName"),
    ),
    StackType(
        name="AWS::Cognito::UserPoolClient",
        service="cognito-idp",
        create="CreateUserPoolClient",
        update="UpdateUserPoolClient",
        delete="DeleteUserPoolClient",
        name_property="ClientName",
        keys={"UserPoolId": "UserPoolId", "ClientId": "ClientId"},
        ref="ClientId",
        inside="UserPoolClient",
        attributes={"ClientId": "ClientId", "ClientSecret": "ClientSecret", "Name": "ClientName"},
    ),
    StackType(
        name="AWS::Cognito::UserPoolDomain",
        service="cognito-idp",
        create="CreateUserPoolDomain",
        delete="DeleteUserPoolDomain",
        keys={"UserPoolId": "UserPoolId", "Domain": "Domain"},
        ref="Domain",
        attributes={"CloudFrontDistribution": "CloudFrontDomain"},
    ),
    StackType(
        name="AWS::Cognito::UserPoolResourceServer",
        service="cognito-idp",
        create="CreateResourceServer",  # moto can neither update nor delete one
        keys={"UserPoolId": "UserPoolId", "Identifier": "Identifier"},
        ref="Identifier",
        inside="ResourceServer",
    ),
    StackType(
        name="AWS::Cognito::UserPoolGroup",
        service="cognito-idp",
        create="CreateGroup",
        update="UpdateGroup",
        delete="DeleteGroup",
        name_property="GroupName",
        keys={"UserPoolId": "UserPoolId", "GroupName": "GroupName"},
        ref="GroupName",
        inside="Group",
    ),
    StackType(
        name="AWS::Cognito::UserPoolUser",
        service="cognito-idp",
        create="AdminCreateUser",
        delete="AdminDeleteUser",
        name_property="Username",
        keys={"UserPoolId": "UserPoolId", "Username": "Username"},
        ref="Username",
        inside="User",
    ),
    StackType(
        name="AWS::Cognito::UserPoolUserToGroupAttachment",
        service="cognito-idp",
        create="AdminAddUserToGroup",
        delete="AdminRemoveUserFromGroup",
        keys={"UserPoolId": "UserPoolId", "Username": "Username", "GroupName": "GroupName"},
        ref="Username",
    ),
    StackType(
        name="AWS::Cognito::UserPoolIdentityProvider",
        service="cognito-idp",
        create="CreateIdentityProvider",
        update="UpdateIdentityProvider",
        delete="DeleteIdentityProvider",
        keys={"UserPoolId": "UserPoolId", "ProviderName": "ProviderName"},
        ref="ProviderName",
        inside="IdentityProvider",
    ),
)

_OF_OTHERS: Final = (
    StackType(
        name="AWS::CodeBuild::Project",
        service="codebuild",
        create="CreateProject",
        delete="DeleteProject",
        name_property="Name",
        keys={"name": "name"},
        ref="name",
        inside="project",
        attributes={"Arn": "arn"},
    ),
    StackType(
        name="AWS::EC2::SecurityGroupEgress",
        service="ec2",
        create="AuthorizeSecurityGroupEgress",
        delete="RevokeSecurityGroupEgress",
        keys={"GroupId": "GroupId", "IpPermissions": "IpPermissions"},
        ref="GroupId",
        arrange=_outgoing_rule,
    ),
    StackType(
        name="AWS::Logs::DeliverySource",
        service="logs",
        create="PutDeliverySource",
        update="PutDeliverySource",
        delete="DeleteDeliverySource",
        name_property="Name",
        keys={"name": "name"},
        ref="name",
        inside="deliverySource",
        attributes={"Arn": "arn", "Service": "service"},
    ),
    StackType(
        name="AWS::Logs::DeliveryDestination",
        service="logs",
        create="PutDeliveryDestination",
        update="PutDeliveryDestination",
        delete="DeleteDeliveryDestination",
        name_property="Name",
        keys={"name": "name"},
        ref="name",
        inside="deliveryDestination",
        attributes={"Arn": "arn"},
        arrange=_destination,
    ),
    StackType(
        name="AWS::Logs::Delivery",
        service="logs",
        create="CreateDelivery",
        delete="DeleteDelivery",
        keys={"id": "id"},
        ref="id",
        inside="delivery",
        attributes={"Arn": "arn", "DeliveryId": "id", "DeliveryDestinationType": "deliveryDestinationType"},
    ),
    StackType(
        name="AWS::Scheduler::Schedule",
        service="scheduler",
        create="CreateSchedule",
        update="UpdateSchedule",
        delete="DeleteSchedule",
        name_property="Name",
        keys={"Name": "Name"},
        ref="Name",
        attributes={"Arn": "ScheduleArn"},
    ),
    StackType(
        name="AWS::Lambda::EventInvokeConfig",
        service="lambda",
        create="PutFunctionEventInvokeConfig",
        update="PutFunctionEventInvokeConfig",
        delete="DeleteFunctionEventInvokeConfig",
        keys={"FunctionName": "FunctionName"},
        ref="FunctionName",
    ),
    StackType(
        name="AWS::S3::BucketPolicy",
        service="s3",
        create="PutBucketPolicy",
        update="PutBucketPolicy",
        delete="DeleteBucketPolicy",
        keys={"Bucket": "Bucket"},
        ref="Bucket",
        arrange=_policy_as_text,
    ),
    StackType(
        name="AWS::SecretsManager::Secret",
        service="secretsmanager",
        create="CreateSecret",
        delete="DeleteSecret",
        name_property="Name",
        keys={"SecretId": "ARN"},
        deletion={"ForceDeleteWithoutRecovery": True},
        ref="ARN",
        attributes={"Id": "ARN"},
        arrange=_secret,
    ),
)

TYPES: Final = _OF_AGENTCORE + _OF_COGNITO + _OF_OTHERS

"""The IAM actions of operations, and the resources that their parameters refer to, as data.

An operation without an entry requires the action of the same name. Source: AWS, "Service Authorization Reference" of
each service; for AgentCore also its developer guide, "IAM Permissions for AgentCore Runtime".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ActionRule:
    """An action that an operation needs.

    Attributes:
        action: The action, as named by IAM.
        kind: The kind of its resource; "" for an action that does not require a resource.
        parameters: The parameters of the operation that name the resource; the first one in the call is used.
        is_optional: Whether the action is needed only if one of `parameters` is given.
    """

    action: str
    kind: str = ""
    parameters: tuple[str, ...] = ()
    is_optional: bool = False


IAM_PREFIXES: Final[Mapping[str, str]] = {"monitoring": "cloudwatch", "email": "ses"}
"""Services whose name in IAM differs from their signing name."""

_GUARDRAIL: Final = "guardrailConfig.guardrailIdentifier"
_GENERATE: Final = "retrieveAndGenerateConfiguration.knowledgeBaseConfiguration"
_OBJECT: Final = ("Bucket", "Key")


def _model(action: str, *guardrail: str) -> tuple[ActionRule, ...]:
    applies = ActionRule("bedrock:ApplyGuardrail", "guardrails", guardrail, is_optional=True)
    return (ActionRule(action, "models", ("modelId",)), *((applies,) if guardrail else ()))


_ANSWER: Final = (
    ActionRule("bedrock:RetrieveAndGenerate"),
    ActionRule("bedrock:Retrieve", "knowledge_bases", (f"{_GENERATE}.knowledgeBaseId",)),
    ActionRule("bedrock:InvokeModel", "models", (f"{_GENERATE}.modelArn",)),
    ActionRule(
        "bedrock:ApplyGuardrail",
        "guardrails",
        (f"{_GENERATE}.generationConfiguration.guardrailConfiguration.guardrailId",),
        is_optional=True,
    ),
)

OPERATIONS: Final[Mapping[str, tuple[ActionRule, ...]]] = {
    "bedrock-runtime:Converse": _model("bedrock:InvokeModel", _GUARDRAIL),
    "bedrock-runtime:ConverseStream": _model("bedrock:InvokeModelWithResponseStream", _GUARDRAIL),
    "bedrock-runtime:InvokeModel": _model("bedrock:InvokeModel", "guardrailIdentifier"),
    "bedrock-runtime:InvokeModelWithResponseStream": _model(
        "bedrock:InvokeModelWithResponseStream", "guardrailIdentifier"
    ),
    "bedrock-runtime:InvokeModelWithBidirectionalStream": _model("bedrock:InvokeModel"),
    "bedrock-runtime:StartAsyncInvoke": _model("bedrock:InvokeModel"),
    "bedrock-runtime:CountTokens": _model("bedrock:CountTokens"),
    "bedrock-runtime:ApplyGuardrail": (ActionRule("bedrock:ApplyGuardrail", "guardrails", ("guardrailIdentifier",)),),
    "bedrock-agent-runtime:Retrieve": (
        ActionRule("bedrock:Retrieve", "knowledge_bases", ("knowledgeBaseId",)),
        ActionRule("bedrock:ApplyGuardrail", "guardrails", ("guardrailConfiguration.guardrailId",), is_optional=True),
    ),
    "bedrock-agent-runtime:RetrieveAndGenerate": _ANSWER,
    "bedrock-agent-runtime:RetrieveAndGenerateStream": _ANSWER,
    "bedrock-agent-runtime:InvokeAgent": (ActionRule("bedrock:InvokeAgent", "agent_aliases", ("agentId",)),),
    "bedrock-agent-runtime:InvokeFlow": (ActionRule("bedrock:InvokeFlow", "flow_aliases", ("flowIdentifier",)),),
    "s3:GetObject": (ActionRule("s3:GetObject", "objects", _OBJECT),),
    "s3:HeadObject": (ActionRule("s3:GetObject", "objects", _OBJECT),),
    "s3:SelectObjectContent": (ActionRule("s3:GetObject", "objects", _OBJECT),),
    "s3:PutObject": (ActionRule("s3:PutObject", "objects", _OBJECT),),
    "s3:CreateMultipartUpload": (ActionRule("s3:PutObject", "objects", _OBJECT),),
    "s3:UploadPart": (ActionRule("s3:PutObject", "objects", _OBJECT),),
    "s3:CompleteMultipartUpload": (ActionRule("s3:PutObject", "objects", _OBJECT),),
    "s3:AbortMultipartUpload": (ActionRule("s3:AbortMultipartUpload", "objects", _OBJECT),),
    "s3:DeleteObject": (ActionRule("s3:DeleteObject", "objects", _OBJECT),),
    "s3:DeleteObjects": (ActionRule("s3:DeleteObject", "objects", ("Bucket",)),),
    "s3:CopyObject": (
        ActionRule("s3:PutObject", "objects", _OBJECT),
        ActionRule("s3:GetObject", "copied_objects", ("CopySource",)),
    ),
    "s3:ListObjects": (ActionRule("s3:ListBucket", "listed_buckets", ("Bucket",)),),
    "s3:ListObjectsV2": (ActionRule("s3:ListBucket", "listed_buckets", ("Bucket",)),),
    "s3:HeadBucket": (ActionRule("s3:ListBucket", "listed_buckets", ("Bucket",)),),
    "s3:ListObjectVersions": (ActionRule("s3:ListBucketVersions", "listed_buckets", ("Bucket",)),),
    "s3:ListBuckets": (ActionRule("s3:ListAllMyBuckets"),),
    "lambda:Invoke": (ActionRule("lambda:InvokeFunction", "functions", ("FunctionName",)),),
    "lambda:InvokeAsync": (ActionRule("lambda:InvokeFunction", "functions", ("FunctionName",)),),
    "lambda:InvokeWithResponseStream": (ActionRule("lambda:InvokeFunction", "functions", ("FunctionName",)),),
    "dynamodb:Query": (ActionRule("dynamodb:Query", "queried_tables", ("TableName",)),),
    "dynamodb:Scan": (ActionRule("dynamodb:Scan", "queried_tables", ("TableName",)),),
    "cloudwatch:PutMetricData": (ActionRule("cloudwatch:PutMetricData", "metric_namespaces", ("Namespace",)),),
    "dynamodb:BatchGetItem": (ActionRule("dynamodb:BatchGetItem", "tables", ("RequestItems",)),),
    "dynamodb:BatchWriteItem": (ActionRule("dynamodb:BatchWriteItem", "tables", ("RequestItems",)),),
    "events:PutEvents": (ActionRule("events:PutEvents", "event_buses", ("Entries.EventBusName",)),),
    "sesv2:SendEmail": (ActionRule("ses:SendEmail", "identities", ("FromEmailAddress",)),),
    "ses:SendEmail": (ActionRule("ses:SendEmail", "identities", ("Source",)),),
    "ssm:GetParametersByPath": (ActionRule("ssm:GetParametersByPath", "parameters", ("Path",)),),
    "sts:GetCallerIdentity": (),
    "bedrock-agentcore:GetResourceApiKey": (
        ActionRule("bedrock-agentcore:GetResourceApiKey", "api_keys", ("resourceCredentialProviderName",)),
        ActionRule("secretsmanager:GetSecretValue", "api_key_secrets", ("resourceCredentialProviderName",)),
    ),
    "bedrock-agentcore:GetResourceOauth2Token": (
        ActionRule("bedrock-agentcore:GetResourceOauth2Token", "oauth2_tokens", ("resourceCredentialProviderName",)),
        ActionRule("secretsmanager:GetSecretValue", "oauth2_secrets", ("resourceCredentialProviderName",)),
    ),
}
"""The actions of operations that need other actions than the one of the same name, as `service:Operation`."""

PARAMETERS: Final[Mapping[str, str]] = {
    "bedrock-agentcore.memoryId": "memories",
    "bedrock-agentcore.agentRuntimeArn": "agents",
    "bedrock-agentcore.codeInterpreterIdentifier": "code_interpreters",
    "bedrock-agentcore.browserIdentifier": "browsers",
    "bedrock-agentcore.webSearchId": "web_searches",
    "bedrock-agentcore.workloadName": "workload_identities",
    "bedrock-agentcore-control.memoryId": "memories",
    "bedrock-agentcore-control.agentRuntimeId": "agents",
    "bedrock-agentcore-control.gatewayIdentifier": "gateways",
    "bedrock-agentcore-control.codeInterpreterId": "code_interpreters",
    "bedrock-agentcore-control.browserId": "browsers",
    "bedrock.guardrailIdentifier": "guardrails",
    "bedrock-agent.knowledgeBaseId": "knowledge_bases",
    "lambda.FunctionName": "functions",
    "dynamodb.TableName": "tables",
    "secretsmanager.SecretId": "secrets",
    "ssm.Name": "parameters",
    "ssm.Names": "parameters",
    "sqs.QueueUrl": "queues",
    "sns.TopicArn": "topics",
    "stepfunctions.stateMachineArn": "state_machines",
    "kms.KeyId": "keys",
    "sts.RoleArn": "roles",
    "logs.logGroupName": "log_groups",
    "logs.logGroupIdentifier": "log_groups",
    "kinesis.StreamName": "streams",
    "kinesis.StreamARN": "streams",
    "firehose.DeliveryStreamName": "delivery_streams",
    "s3vectors.vectorBucketName": "vector_buckets",
}
"""The kinds of the resources that parameters name, as `service.parameter`."""

WITHOUT_RESOURCES: Final = frozenset(
    {
        *("bedrock:RetrieveAndGenerate", "bedrock:Rerank", "bedrock:GenerateQuery"),
        *("bedrock:ListFoundationModels", "bedrock:ListInferenceProfiles"),
        *("bedrock:ListKnowledgeBases", "bedrock:ListAgents"),
        *("bedrock-agentcore:ListMemories", "bedrock-agentcore:ListAgentRuntimes", "bedrock-agentcore:ListGateways"),
        *("bedrock-agentcore:ListCodeInterpreters", "bedrock-agentcore:ListBrowsers"),
        *("bedrock-agentcore:ConnectBrowserAutomationStream", "bedrock-agentcore:ConnectBrowserLiveViewStream"),
        *("s3:ListAllMyBuckets", "lambda:ListFunctions", "dynamodb:ListTables", "secretsmanager:ListSecrets"),
        *("secretsmanager:GetRandomPassword", "ssm:DescribeParameters", "sqs:ListQueues", "sns:ListTopics"),
        *("states:ListStateMachines", "kms:ListKeys", "kms:GenerateRandom", "logs:DescribeQueries"),
        *("cloudwatch:PutMetricData", "cloudwatch:GetMetricData", "cloudwatch:GetMetricStatistics"),
        *("cloudwatch:ListMetrics", "sts:GetWebIdentityToken", "sts:GetSessionToken", "ecr:GetAuthorizationToken"),
        *("xray:PutTraceSegments", "xray:PutTelemetryRecords", "xray:GetSamplingRules", "xray:GetSamplingTargets"),
        *("translate:TranslateText", "comprehend:DetectDominantLanguage", "comprehend:DetectEntities"),
        *("comprehend:DetectKeyPhrases", "comprehend:DetectPiiEntities", "comprehend:DetectSentiment"),
        *("textract:AnalyzeDocument", "textract:AnalyzeExpense", "textract:DetectDocumentText"),
        *("rekognition:DetectLabels", "rekognition:DetectText", "rekognition:DetectModerationLabels"),
        *("transcribe:StartStreamTranscription", "pricing:GetProducts", "ec2:DescribeInstances"),
        *("ec2:DescribeRegions", "ec2:DescribeVpcs", "ec2:DescribeSubnets", "ec2:DescribeSecurityGroups"),
    }
)
"""Actions that do not require a resource: the resource of their statements is `*`."""

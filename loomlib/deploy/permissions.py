"""The permissions that every agent's role needs: its logs, spans, metrics and workload access tokens."""

from __future__ import annotations

from typing import Any


def base_statements(account_id: str, region: str) -> list[dict[str, Any]]:
    """Return the statements of every agent's role (AgentCore's guide, "IAM permissions for AgentCore Runtime")."""
    group = f"arn:aws:logs:{region}:{account_id}:log-group"
    directory = f"arn:aws:bedrock-agentcore:{region}:{account_id}:workload-identity-directory/default"
    return [
        {
            "Sid": "Logs",
            "Effect": "Allow",
            "Action": [
                "logs:CreateLogGroup",
                "logs:CreateLogStream",
                "logs:DescribeLogStreams",
                "logs:PutLogEvents",
            ],
            "Resource": f"{group}:/aws/bedrock-agentcore/runtimes/*",
        },
        {"Sid": "LogGroups", "Effect": "Allow", "Action": "logs:DescribeLogGroups", "Resource": f"{group}:*"},
        {
            "Sid": "Spans",
            "Effect": "Allow",
            "Action": [
                "xray:GetSamplingRules",
                "xray:GetSamplingTargets",
                "xray:PutTelemetryRecords",
                "xray:PutTraceSegments",
            ],
            "Resource": "*",
        },
        {
            "Sid": "Metrics",
            "Effect": "Allow",
            "Action": "cloudwatch:PutMetricData",
            "Resource": "*",
            "Condition": {"StringEquals": {"cloudwatch:namespace": "bedrock-agentcore"}},
        },
        {
            "Sid": "WorkloadTokens",
            "Effect": "Allow",
            "Action": [
                "bedrock-agentcore:GetWorkloadAccessToken",
                "bedrock-agentcore:GetWorkloadAccessTokenForJWT",
                "bedrock-agentcore:GetWorkloadAccessTokenForUserId",
            ],
            "Resource": [directory, f"{directory}/workload-identity/*"],
        },
    ]

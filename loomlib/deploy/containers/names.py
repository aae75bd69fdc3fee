"""Names and policies of the resources that build an agent's image."""

from __future__ import annotations

from typing import Any

from ..names import role_name
from ..policies import AwsPlace


def repository_name(agent: str) -> str:
    """Return the name of an agent's ECR repository, in lower case: ECR does not allow upper-case letters."""
    return f"loom-{agent.lower()}".rstrip("_")


def project_name(agent: str) -> str:
    """Return the name of the project that builds an agent's image."""
    return f"loom-{agent}"


def build_role_name(agent: str, region: str) -> str:
    """Return the name of the role that builds run as."""
    return role_name(f"build-{agent}", region)


def source_key(agent: str, tag: str) -> str:
    """Return the key of an image's source, in the bucket of the agents' code."""
    return f"{agent}/images/{tag}.zip"


def build_policy(agent: str, bucket: str, place: AwsPlace) -> dict[str, Any]:
    """Return the policy of the build role: read the source, write the build's log, push to the agent's repository.

    Args:
        agent: The agent's name.
        bucket: The bucket of the agents' code.
        place: The account and region.
    """
    group = place.arn("logs", f"log-group:/aws/codebuild/{project_name(agent)}")
    repository = place.arn("ecr", f"repository/{repository_name(agent)}")
    pushing = ("BatchCheckLayerAvailability", "InitiateLayerUpload", "UploadLayerPart", "CompleteLayerUpload")
    reading = ("BatchGetImage", "GetDownloadUrlForLayer", "PutImage")
    source = f"arn:{place.partition}:s3:::{bucket}/{source_key(agent, '*')}"
    parts = (
        ("Source", ["s3:GetObject", "s3:GetObjectVersion"], [source]),
        ("Log", ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"], [group, f"{group}:*"]),
        ("Push", [f"ecr:{name}" for name in (*pushing, *reading)], [repository]),
        ("SignIn", ["ecr:GetAuthorizationToken"], ["*"]),  # AWS defines this action without resources
    )
    statements = [
        {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources} for sid, actions, resources in parts
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def build_trust(agent: str, place: AwsPlace) -> dict[str, Any]:
    """Return the trust policy of the role of builds: only CodeBuild may assume it, and only for this project.

    Args:
        agent: The agent's name.
        place: The account and region.
    """
    statement = {
        "Sid": "AssumedByCodeBuild",
        "Effect": "Allow",
        "Principal": {"Service": "codebuild.amazonaws.com"},
        "Action": "sts:AssumeRole",
        "Condition": {
            "StringEquals": {
                "aws:SourceAccount": place.account,
                "aws:SourceArn": place.arn("codebuild", f"project/{project_name(agent)}"),
            }
        },
    }
    return {"Version": "2012-10-17", "Statement": [statement]}

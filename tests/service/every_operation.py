"""Starts a local AgentCore and calls operations of AWS services with nothing but its exported variables.

    python every_operation.py HOME HOW_MANY SERVICE…

HOW_MANY operations of each service are called, 0 means all. The result is JSON: what was answered, what was refused and
in which way, answers that are not in AWS's form, and attempts to connect to anything but loopback.
"""

from __future__ import annotations

import ipaddress
import json
import os
import random
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import boto3
import botocore.exceptions
from aws_requests import minimal_parameters
from botocore import xform_name
from botocore.config import Config

from loomlib import local

Outcome = dict[str, Any]


def main(home: Path, how_many: int, services: list[str]) -> Outcome:
    """Call the operations and return what came."""
    state, _ = local.start(home, persistent=True)
    try:
        os.environ.update(state.environment(), AWS_CONFIG_FILE=os.devnull, AWS_SHARED_CREDENTIALS_FILE=os.devnull)
        outside: list[str] = []
        sys.addaudithook(lambda event, arguments: _note_outside(event, arguments, outside))
        faults: list[str] = []
        tally: dict[str, Counter[str]] = {}
        for service in services:
            tally[service] = Counter()
            _call_service(service, how_many, faults, tally[service])
    finally:
        local.stop(home)
    return {"outside": outside, "faults": faults, "tally": tally}


def _call_service(service: str, how_many: int, faults: list[str], tally: Counter[str]) -> None:
    client: Any = boto3.client(service, config=Config(retries={"total_max_attempts": 1}, read_timeout=60))
    raw: dict[str, Any] = {}
    client.meta.events.register("response-received", lambda response_dict, **_: raw.update(response_dict or {}))
    names = list(client.meta.service_model.operation_names)
    for name in random.Random(service).sample(names, min(how_many or len(names), len(names))):
        method = getattr(client, xform_name(name), None)
        if method is None:  # botocore has no method for streams in both directions
            continue
        raw.clear()
        try:
            method(**minimal_parameters(client.meta.service_model.operation_model(name)))
            tally["answered"] += 1
        except botocore.exceptions.ClientError as refused:
            code = refused.response["Error"].get("Code", "")
            status = refused.response["ResponseMetadata"]["HTTPStatusCode"]
            tally["not implemented" if status == 501 else "refused"] += 1
            if status == 501 and not _is_named(name, str(refused)):
                faults.append(f"{service}:{name}: 501 that does not name the operation: {refused}")
            without_body = name.startswith("Head") and code == "404"  # an answer to HEAD has none
            if (status >= 500 and status != 501) or ((not code or code.isdigit()) and not without_body):
                faults.append(f"{service}:{name}: {status} {code!r}")
        except botocore.exceptions.BotoCoreError as broken:
            faults.append(f"{service}:{name}: {type(broken).__name__} {broken}")
        if "html" in str((raw.get("headers") or {}).get("content-type", "")).lower():
            faults.append(f"{service}:{name}: {raw.get('status_code')} is a web page")
    client.close()


def _is_named(operation: str, refusal: str) -> bool:
    """Return whether a refusal names the operation, or one with the same path and method."""
    same = {
        "InvokeInlineAgent": "PrepareAgent",
        "PutBucketLifecycle": "PutBucketLifecycleConfiguration",
        "InvokeModelWithResponseStream": "InvokeModel",
        "UntagResource": "DELETE /",  # the minimal parameters have no key of a tag
        "WriteGetObjectResponse": "POST /WriteGetObjectResponse",
    }
    return (
        re.search(rf"does not implement ([\w-]+:)?({operation}|{same.get(operation, operation)})", refusal) is not None
    )


def _note_outside(event: str, arguments: tuple[Any, ...], outside: list[str]) -> None:
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = str(arguments[1][0])
    elif event == "socket.getaddrinfo":
        host = str(arguments[0])
    else:
        return
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host in ("localhost", "None")
    if not is_loopback:
        outside.append(f"{event} {host}")


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))

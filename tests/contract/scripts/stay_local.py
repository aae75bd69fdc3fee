"""Calls one operation of every service named on the command line, with a network that has only loopback."""

import ipaddress
import json
import sys

import boto3
import botocore
from botocore.config import Config
from botocore.exceptions import ClientError

outside = []


def only_loopback(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host in (None, "localhost"):
        return
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        outside.append(f"{event} {host}")
        raise ConnectionRefusedError(f"{host} is not this machine")


sys.addaudithook(only_loopback)
answers = {}
for service in sys.argv[1:]:
    client = boto3.client(service, config=Config(retries={"total_max_attempts": 1}))
    names = client.meta.service_model.operation_names
    plain = [
        name
        for name in names
        if not getattr(client.meta.service_model.operation_model(name).input_shape, "required_members", ())
    ]
    try:
        getattr(client, botocore.xform_name(plain[0] if plain else names[0]))()
        answers[service] = "ok"
    except ClientError as refused:
        answers[service] = refused.response["Error"]["Code"]
    except Exception as error:
        answers[service] = f"{type(error).__name__}: {error}"
print(json.dumps({"answers": answers, "outside": outside}))

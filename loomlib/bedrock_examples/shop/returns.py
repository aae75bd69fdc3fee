"""The action group `returns` of the example `shop`: operations of an OpenAPI schema, in the event of Bedrock Agents."""

import json


def handler(event, context):
    """Answer a call of an operation."""
    values = {item["name"]: item["value"] for item in event["parameters"]}
    for content in event.get("requestBody", {}).get("content", {}).values():
        values.update({item["name"]: item["value"] for item in content["properties"]})
    if event["httpMethod"] == "POST":
        body = {"returnId": f"R-{values['parcelId']}", "state": "started", "reason": values["reason"]}
    else:
        body = {"returnId": values["returnId"], "state": "on its way to the warehouse"}
    return {
        "messageVersion": event["messageVersion"],
        "response": {
            "actionGroup": event["actionGroup"],
            "apiPath": event["apiPath"],
            "httpMethod": event["httpMethod"],
            "httpStatusCode": 200,
            "responseBody": {"application/json": {"body": json.dumps(body)}},
        },
        "sessionAttributes": event["sessionAttributes"],
        "promptSessionAttributes": event["promptSessionAttributes"],
    }

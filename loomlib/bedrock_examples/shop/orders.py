"""The action group `orders` of the example `shop`: functions, in the event of Bedrock Agents."""

ORDERS = {
    "4711": {"status": "shipped on Monday, it arrives within 2 days", "articles": "a kettle, two cups"},
    "4712": {"status": "in the warehouse", "articles": "a lamp"},
    "4713": {"status": "delivered last week", "articles": "a toaster"},
}


def handler(event, context):
    """Answer a call of a function."""
    values = {item["name"]: item["value"] for item in event["parameters"]}
    order = ORDERS.get(values["order_id"])
    if order is None:
        text = f"There is no order {values['order_id']}."
    elif event["function"] == "order_status":
        text = f"Order {values['order_id']} is {order['status']}."
    else:
        text = f"Order {values['order_id']} has {order['articles']}."
    return {
        "messageVersion": event["messageVersion"],
        "response": {
            "actionGroup": event["actionGroup"],
            "function": event["function"],
            "functionResponse": {"responseBody": {"TEXT": {"body": text}}},
        },
        "sessionAttributes": event["sessionAttributes"],
        "promptSessionAttributes": event["promptSessionAttributes"],
    }

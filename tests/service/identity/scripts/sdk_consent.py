"""A program that uses the AgentCore SDK's identity client; its user agrees at once."""

import asyncio
import json
import sys
import urllib.request
import warnings

warnings.simplefilter("ignore")

from bedrock_agentcore.services import identity  # noqa: E402

identity.DEFAULT_POLLING_INTERVAL_SECONDS = 0.05
asked = json.loads(sys.argv[1])
client = identity.IdentityClient(asked["region"])


class Stop(urllib.request.HTTPRedirectHandler):
    """Follows a browser up to the application's own address."""

    def redirect_request(self, request, file, code, message, headers, url):
        if url.startswith(asked["return_url"].partition("?")[0]):
            raise StopIteration(url)
        return super().redirect_request(request, file, code, message, headers, url)


def agree(url):
    try:
        urllib.request.build_opener(Stop).open(url, timeout=30)
    except StopIteration as reached:
        session = reached.value.partition("session_id=")[2].partition("&")[0]
        client.complete_resource_token_auth(urllib.request.unquote(session), identity.UserIdIdentifier(user_id="alice"))


workload = client.create_workload_identity(asked["workload"])["name"]
client.update_workload_identity(workload, [asked["return_url"]])
client.create_api_key_credential_provider({"name": asked["workload"], "apiKey": "the key"})
agent = client.get_workload_access_token(workload, user_id="alice")["workloadAccessToken"]
common = {"provider_name": asked["provider"], "scopes": ["read"], "agent_identity_token": agent}
found = {
    "user": asyncio.run(
        client.get_token(**common, auth_flow="USER_FEDERATION", callback_url=asked["return_url"], on_auth_url=agree)
    ),
    "machine": asyncio.run(client.get_token(**common, auth_flow="M2M")),
    "key": asyncio.run(client.get_api_key(provider_name=asked["workload"], agent_identity_token=agent)),
    "provider": client.get_oauth2_credential_provider(name=asked["provider"])["name"],
}
print(json.dumps(found))

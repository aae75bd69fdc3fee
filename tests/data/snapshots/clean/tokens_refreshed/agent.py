import time
import urllib.request

from bedrock_agentcore import BedrockAgentCoreApp


class Tokens:
    """Fetches a token at the first request, and again when it has expired."""

    def __init__(self):
        self.token, self.expires_at = "", 0.0

    def get(self):
        if time.time() > self.expires_at:
            self.token, self.expires_at = "opaque", time.time() + 300
        return self.token


tokens = Tokens()
opener = urllib.request.build_opener()
LIMITS = {"max_tokens": 512, "token_budget": 1_000, "expires": 0}


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [bool(tokens.get()), LIMITS, str(opener)]


if __name__ == "__main__":
    app.run()

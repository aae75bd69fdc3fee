import json
import time

import uvicorn

PAGES = {"/ping": {"status": "Healthy"}}


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    answer = PAGES.get(scope["path"]) or {"at": time.time()}
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})


if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=8080, lifespan="off")

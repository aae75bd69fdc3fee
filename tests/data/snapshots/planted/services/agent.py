import contextlib
import logging
import logging.handlers
import multiprocessing
import os
import queue
import sqlite3
import uuid

import httpx
import requests
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

URL = os.environ["AWS_ENDPOINT_URL"]
web = requests.Session()
STATUS = web.get(URL).status_code  # finds: connection
http = httpx.Client()
http.get(URL)  # finds: connection
listener = logging.handlers.QueueListener(queue.Queue(), logging.NullHandler())
listener.start()  # finds: thread


@contextlib.asynccontextmanager
async def lifespan(app):
    app.state.instance = uuid.uuid4().hex  # finds: id
    app.state.notes = sqlite3.connect("notes.db")  # finds: database
    yield


async def answer(request):
    return JSONResponse([request.app.state.instance, str(request.app.state.notes), STATUS, str(http), str(listener)])


async def warm(request):
    request.app.state.warmed = uuid.uuid4().hex  # finds: id
    return JSONResponse({})


routes = [Route("/invocations", answer, methods=["POST"]), Route("/warmup", warm, methods=["POST"])]
app = Starlette(routes=routes, lifespan=lifespan)

if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=print)
    uvicorn.run(app, host="0.0.0.0", port=8080)

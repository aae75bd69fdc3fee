import functools
import random
import sqlite3
import threading
import uuid

from bedrock_agentcore import BedrockAgentCoreApp


@functools.cache
def database():
    return sqlite3.connect("notes.db", check_same_thread=False)


@functools.cache
def run_id():
    return uuid.uuid4().hex


@functools.cache
def rng():
    return random.Random()


@functools.cache
def worker():
    thread = threading.Thread(target=print, daemon=True)
    thread.start()
    return thread


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [run_id(), rng().random(), str(database()), str(worker())]


if __name__ == "__main__":
    app.run()

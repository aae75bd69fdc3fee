import http.client
import os
import shelve
import socket
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import boto3
import sqlalchemy
from bedrock_agentcore import BedrockAgentCoreApp

database = sqlite3.connect("notes.db", check_same_thread=False)  # finds: database
engine = sqlalchemy.create_engine("sqlite:///orders.db")
orders = engine.connect()  # finds: database
counts = shelve.open("counts")  # finds: database
log = open("agent.log", "a")  # finds: file
address = urlsplit(os.environ["AWS_ENDPOINT_URL"])
service = http.client.HTTPConnection(address.hostname, address.port)
service.connect()  # finds: connection
sts = boto3.client("sts")
ACCOUNT = sts.get_caller_identity()["Account"]  # finds: connection
callbacks = socket.create_server(("127.0.0.1", 0))  # finds: connection
threading.Thread(target=time.sleep, args=(1_000,), daemon=True).start()  # finds: thread
timer = threading.Timer(1_000, print)
timer.daemon = True
timer.start()  # finds: thread
pool = ThreadPoolExecutor(1)
ready = pool.submit(int, "1")  # finds: thread
tool_server = subprocess.Popen(["sleep", "1000"])  # finds: process
app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    log.write("invoked\n")
    pool.submit(print)
    return [str(database), str(orders), len(counts), str(service), ACCOUNT, str(callbacks), str(timer), tool_server.pid]


if __name__ == "__main__":
    app.run()

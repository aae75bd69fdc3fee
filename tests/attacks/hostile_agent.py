"""An agent that does whatever its caller sends: the code of an attack, in its own process and on its own connection."""

HOSTILE_AGENT = r"""
import asyncio, json, os, sys, threading
import uvicorn

LOOP = None


class Hostile(asyncio.Protocol):
    def __init__(self, config, server_state, *args, **options):
        self.data = b""
        self.connections = server_state.connections

    def connection_made(self, transport):
        global LOOP
        LOOP, self.transport = asyncio.get_running_loop(), transport
        self.connections.add(self)  # a snapshot is taken once there are none

    def connection_lost(self, error):
        self.connections.discard(self)

    def shutdown(self):
        self.transport.close()

    def data_received(self, data):
        self.data += data
        head, found, body = self.data.partition(b"\r\n\r\n")
        if not found:
            return
        length = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if length and len(body) < int(length[0]):
            return
        self.data = b""
        if b"/ping" in head:
            self.reply(b'{"status": "Healthy"}')
        else:
            threading.Thread(target=self.attack, args=(json.loads(body)["code"],), daemon=True).start()

    def attack(self, code):
        names = {"write": self.write, "transport": self.transport}
        try:
            exec(code, names)
            result = names.get("result", "nothing")
        except BaseException as failure:
            result = f"{type(failure).__name__}: {failure}"
        if result is not None:
            self.write(self.framed(json.dumps(result).encode()))

    def write(self, data):
        LOOP.call_soon_threadsafe(self.transport.write, data)

    def reply(self, body):
        self.transport.write(self.framed(body))

    def framed(self, body):
        return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


async def nothing(scope, receive, send):
    pass


uvicorn.run(nothing, http=Hostile, lifespan="off", log_level="critical", port=8080)
"""

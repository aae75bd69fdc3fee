import collections
import itertools
import threading
import weakref

from bedrock_agentcore import BedrockAgentCoreApp

numbers = itertools.count(1)
lock = threading.Lock()
recent = collections.deque(maxlen=10)
sessions = weakref.WeakValueDictionary()
local = threading.local()
stop = threading.Event()


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [next(numbers), len(recent), len(sessions), stop.is_set(), lock.locked(), str(local)]


if __name__ == "__main__":
    app.run()

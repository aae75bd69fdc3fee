import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from bedrock_agentcore import BedrockAgentCoreApp

loaded = []
thread = threading.Thread(target=loaded.append, args=(1,))
thread.start()
thread.join()
with ThreadPoolExecutor(2) as pool:
    LENGTHS = list(pool.map(len, ["a", "bb"]))
VERSION = subprocess.run([sys.executable, "--version"], capture_output=True, text=True, check=True).stdout


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [loaded, LENGTHS, VERSION]


if __name__ == "__main__":
    app.run()

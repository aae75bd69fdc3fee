import json
import tempfile
from pathlib import Path

from bedrock_agentcore import BedrockAgentCoreApp

HERE = Path(__file__).parent
SOURCE = Path(__file__).read_text()
with open(__file__) as file:
    LINES = file.readlines()
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "a.json").write_text("[1, 2]")
    NUMBERS = json.loads((Path(folder) / "a.json").read_text())


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [str(HERE), len(SOURCE), len(LINES), NUMBERS]


if __name__ == "__main__":
    app.run()

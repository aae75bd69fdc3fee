import sqlite3

from bedrock_agentcore import BedrockAgentCoreApp

prices = sqlite3.connect(":memory:", check_same_thread=False)
prices.execute("CREATE TABLE price (name TEXT, cents INTEGER)")
prices.execute("INSERT INTO price VALUES ('tea', 300)")
prices.commit()


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return prices.execute("SELECT * FROM price").fetchall()


if __name__ == "__main__":
    app.run()

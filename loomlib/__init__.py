"""Loom: a notebook laboratory for agents on Amazon Bedrock AgentCore.

    import loomlib as loom

    bench = loom.connect()                  # the local AgentCore, started if it is not up
    agent = bench.deploy("calculator")
    inv = agent.invoke("What is 2+2?")

Names are imported when they are first used, so that `import loomlib` costs next to nothing.
"""

"""Attacks that use up what others need, or answer what no client expects. Each has a session of its own."""

from attack import Attack, ends, holds_nothing, reaches

_CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_NO_TEXT = b"\xff\xfe\xed\xa0"
_RAW = "result = None\nimport time\n"

ATTACKS = (
    Attack(
        "forks without end",
        """
import os, time
def forks():
    while True:
        try:
            if os.fork() == 0:
                while True:
                    try:
                        os.fork()
                    except OSError:
                        time.sleep(0.05)
        except OSError:
            time.sleep(0.05)
forks()
""",
        reaches("processes"),
    ),
    Attack(
        "takes memory without end",
        "taken = []\nwhile True:\n    taken.append(bytearray(b'x' * 2**24))",
        reaches("memory"),
    ),
    Attack(
        "takes memory in children",
        """
import subprocess, sys, time
hog = "import time; taken = bytearray(b'x' * (60 * 2**20)); time.sleep(60)"
children = [subprocess.Popen([sys.executable, "-I", "-S", "-c", hog]) for _ in range(8)]
time.sleep(60)
""",
        reaches("memory"),
    ),
    Attack(
        "writes many files",
        """
import itertools
for number in itertools.count():
    with open(f"junk{number}", "wb") as file:
        file.write(bytes([number % 255 + 1]) * 2**20)
""",
        reaches("storage"),
    ),
    Attack(
        "writes one endless file",
        "with open('junk', 'wb') as file:\n    while True:\n        file.write(b'x' * 2**20)",
        lambda outcome: "File too large" in outcome.text or reaches("storage")(outcome),
    ),
    Attack(
        "fills the shared memory",
        "with open('/dev/shm/junk', 'wb') as file:\n    while True:\n        file.write(b'x' * 2**20)",
        lambda outcome: outcome.text.startswith("OSError: [Errno 2") or reaches("memory")(outcome),
    ),
    Attack(
        "opens files without end",
        "import os\nwhile True:\n    os.open('/dev/null', 0)",
        lambda outcome: "Too many open files" in outcome.text,
    ),
    Attack(
        "starts threads without end",
        "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
        lambda outcome: "can't start new thread" in outcome.text or reaches("processes")(outcome),
    ),
    Attack(
        "prints 16 MB in one line",
        "import os\nfor _ in range(256):\n    os.write(1, b'x' * 65_536)\nresult = 'printed'",
        holds_nothing,
    ),
    Attack(
        "burns processors",
        """
import os, time
end = time.monotonic() + 2
for _ in range(3):
    if os.fork() == 0:
        while time.monotonic() < end:
            pass
        os._exit(0)
result = "burnt"
""",
        holds_nothing,
    ),
    Attack("never answers", "import time; time.sleep(600)", ends),
    Attack("stalls in the middle of its answer", _RAW + f"write({_CHUNKED!r} + b'5\\r\\ndata:\\r\\n')", ends),
    Attack(
        "sends headers without end",
        _RAW
        + "write(b'HTTP/1.1 200 OK\\r\\n')\nfor _ in range(500):\n"
        + "    write(b'x-a: ' + b'a' * 8_000 + b'\\r\\n'); time.sleep(0.001)",
        ends,
    ),
    Attack("sends one giant header", _RAW + "write(b'HTTP/1.1 200 OK\\r\\nx-a: ' + b'a' * 5_000_000)", ends),
    Attack(
        "sends trailers without end",
        _RAW
        + f"write({_CHUNKED!r} + b'2\\r\\nok\\r\\n0\\r\\n')\nfor _ in range(500):\n"
        + "    write(b'x-a: ' + b'a' * 8_000 + b'\\r\\n'); time.sleep(0.001)",
        ends,
    ),
    Attack(
        "continues without end",
        _RAW + "for _ in range(50_000):\n    write(b'HTTP/1.1 100 Continue\\r\\n\\r\\n' * 10)",
        ends,
    ),
    Attack("announces a giant chunk", _RAW + f"write({_CHUNKED!r} + b'ffffffffffffffff\\r\\nx')", ends),
    Attack("sends a chunk without a size", _RAW + f"write({_CHUNKED!r} + b'zz\\r\\nx')", ends),
    Attack("sends a negative length", _RAW + "write(b'HTTP/1.1 200 OK\\r\\ncontent-length: -5\\r\\n\\r\\n')", ends),
    Attack(
        "sends two lengths",
        _RAW + "write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 1\\r\\ncontent-length: 2\\r\\n\\r\\nab')",
        ends,
    ),
    Attack("answers in no known protocol", _RAW + "write(b'\\x00\\xff\\x00\\xff' * 100)", ends),
    Attack(
        "answers more than is allowed",
        _RAW + f"write({_CHUNKED!r})\nfor _ in range(200):\n    write(b'10000\\r\\n' + b'x' * 65_536 + b'\\r\\n')",
        ends,
    ),
    Attack(
        "answers with text that is not UTF-8",
        _RAW + f"write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 4\\r\\n\\r\\n' + {_NO_TEXT!r})",
        lambda outcome: outcome.text == _NO_TEXT.decode("utf-8", "replace") or ends(outcome),
    ),
    Attack(
        "answers twice",
        _RAW + "write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok' * 2)",
        lambda outcome: outcome.text == "ok" or outcome.error != "",
    ),
    Attack("ends in the middle of a call", "import os; os._exit(3)", ends),
    Attack("stops itself", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", ends),
    Attack("kills all that it can", "import os; os.kill(-1, 9)", holds_nothing, own_runtime=True),
    Attack(
        "ignores all signals and leaves daemons",
        '''
import os, signal, subprocess, sys
sleeper = """
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
time.sleep(600)
"""
for options in (dict(), dict(start_new_session=True), dict(env={}), dict(env={}, start_new_session=True)):
    subprocess.Popen([sys.executable, "-I", "-S", "-c", sleeper], **options)
result = "left"
''',
        holds_nothing,
    ),
    Attack(
        "closes its output and its lifeline",
        "import os\nfor number in (1, 2, 4, 5):\n    try: os.close(number)\n    except OSError: pass",
        lambda outcome: outcome.text == "nothing" or ends(outcome),
    ),
    Attack(
        "writes its own copy of the code",
        "open('agent.py', 'a').write('raise SystemExit'); result = 'written'",
        holds_nothing,
    ),
)

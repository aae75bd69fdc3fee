"""The first process of a browser session: it waits for the network, says so, and waits to be ended.

It runs in the session, under `sessions.bootstrap`, which answers the service's request to start the browser.
"""

import signal
import socket
import sys

if __name__ == "__main__":
    # The bootstrap has let the import of `socket` wait for the session's network.
    sys.stdout.write(f"{socket.__name__} is imported\n")
    sys.stdout.flush()
    while True:
        signal.pause()

"""The first process of a browser session: it waits for the network, reports it, and waits until it is ended.

It runs in the session, under `sessions.bootstrap`, which answers the service's request to start the browser.
"""

import signal
import socket
import sys

if __name__ == "__main__":
    # The bootstrap has delayed the import of `socket` until the session's network was up.
    sys.stdout.write(f"{socket.__name__} is imported\n")
    sys.stdout.flush()
    while True:
        signal.pause()

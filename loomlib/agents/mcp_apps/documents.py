"""The document of a view's frame: a page around the page, so that the view can reach nothing but its channel.

The outer document goes into `<iframe sandbox="allow-scripts" srcdoc=…>` and holds the view in a second frame of the
same kind, whose source is inline too. Two things follow. A page with an inline source has its parent's content security
policy, so the view can load and send nothing, whatever it says of itself. And where the view would go elsewhere
(`location = …`), the outer document's `frame-src 'none'` refuses, which no policy of the view's own could.
The outer document passes messages on, from the view to the page and back, and nothing else.
"""

from __future__ import annotations

from html import escape
from typing import Final

VIEW_SANDBOX: Final = "allow-scripts"
"""The `sandbox` of the frame that holds `frame_document`; never with `allow-same-origin`."""

VIEW_CSP: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "media-src data:; connect-src 'none'; frame-src 'none'; child-src 'none'; worker-src 'none'; object-src 'none'; "
    "form-action 'none'; base-uri 'none'"
)

_RELAY: Final = """
const view = document.querySelector("iframe");
window.addEventListener("message", (event) => {
  if (event.source === view.contentWindow) parent.postMessage(event.data, "*");
  else if (event.source === parent) view.contentWindow.postMessage(event.data, "*");
});
"""


def frame_document(html: str, *, title: str = "View of a tool") -> str:
    """The outer document for a view's page; a text for `srcdoc`.

    The page that shows it listens for messages whose `event.source` is the frame's window, hands their data to
    `FrameChannel.receive`, and posts what that gives back into the frame.
    """
    return (
        '<!doctype html><html><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(VIEW_CSP)}">'
        "<style>html,body,iframe{margin:0;padding:0;border:0;width:100%;height:100%;display:block}</style></head>"
        f'<body><iframe sandbox="{VIEW_SANDBOX}" title="{escape(title)}" referrerpolicy="no-referrer" '
        f'srcdoc="{escape(html)}"></iframe><script>{_RELAY}</script></body></html>'
    )

"""The document of a view's frame: an outer page that isolates the view, so that it can use nothing but its channel.

The outer document goes into `<iframe sandbox="allow-scripts" srcdoc=…>` and holds the view in a second frame of the
same kind, whose source is inline too. As a result:

- A page with an inline source has its parent's content security policy, so the view can load and send nothing, whatever
  policy it declares. If it tries to navigate (`location = …`), the outer document's `frame-src 'none'` blocks it.
- No browser policy blocks WebRTC, whose first packet (STUN) would leave the machine. So it is removed from
  every window that the view can make: the only inline script that runs is the starter below, named by its hash. It
  removes WebRTC and then loads the view's own scripts from `data:` URLs, which no other script is allowed to do.
  A frame that the view makes runs that starter or nothing.

One gap remains: where a page tries to go elsewhere, Chromium opens a connection before the policy refuses the request.
No byte of a request leaves, but the name of the host is looked up.

The outer document passes messages on, from the view to the page and back, and nothing else. What the view says reaches
the page as JSON text, with limits on messages per second and on their length: the frames have a process of their own in
Chromium, and one that floods the page (a million messages, one of 100 MB) is taken away there, before the page has to
read any of it. Then the page receives `{closed: why}`; a view cannot say that, for an object is never passed on.

Nothing prevents a view from calling `top.postMessage`, which bypasses its channel and these limits. So the page that
shows a frame also listens for messages whose source is inside the frame, and removes the frame at the first such
message.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from ...presentation.html import fragment

VIEW_SANDBOX: Final = "allow-scripts"
"""The `sandbox` of the frame that holds `frame_document`; never with `allow-same-origin`."""

VIEW_MESSAGES_PER_S: Final = 100
VIEW_MESSAGE_CHARACTERS: Final = 200_000
"""Limits of a view's messages: a view that exceeds them is removed, and the page receives the reason."""

_RELAY: Final = """
const view = document.querySelector("iframe");
let isOpen = true, second = 0, inSecond = 0;
const close = (why) => {
  isOpen = false;
  view.remove();
  parent.postMessage({ closed: why }, "*");
};
window.addEventListener("message", ({ source, data }) => {
  if (!isOpen) return;
  if (source === parent) return void view.contentWindow.postMessage(data, "*");
  if (source !== view.contentWindow) return;
  const now = Math.floor(performance.now() / 1000);
  if (now !== second) [second, inSecond] = [now, 0];
  inSecond += 1;
  if (inSecond > MESSAGES) return void close("the view sent more than MESSAGES messages in a second");
  let text;
  try { text = typeof data === "string" ? data : JSON.stringify(data); } catch { /* no JSON: dropped */ }
  if (text?.length > CHARACTERS) return void close("the view sent a message of more than CHARACTERS characters");
  if (text) parent.postMessage(text, "*");
});
""".replace("MESSAGES", str(VIEW_MESSAGES_PER_S)).replace("CHARACTERS", str(VIEW_MESSAGE_CHARACTERS))

_START: Final = """
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCIceGatherer", "RTCIceTransport"]) {
  delete window[name];
  Object.defineProperty(window, name, { value: undefined, writable: false, configurable: false });
}
{
  const given = new DOMParser().parseFromString(JSON.parse(document.querySelector("script").textContent), "text/html");
  const scripts = [...given.querySelectorAll("script")].filter((each) => !/json|importmap|template/i.test(each.type));
  const places = scripts.map((each) => {
    const place = document.createComment("");
    each.replaceWith(place);
    return place;
  });
  const handlers = [];
  for (const node of given.querySelectorAll("*")) for (const { name, value } of [...node.attributes]) {
    if (!/^on/i.test(name)) continue;
    handlers.push([node, name.toLowerCase(), value]);
    node.removeAttribute(name);
  }
  const root = document.adoptNode(given.documentElement);
  const start = (attributes, text, place) => {
    const made = document.createElement("script");
    for (const { name, value } of attributes) {
      if (!/^(src|nonce|integrity|on.*)$/i.test(name)) made.setAttribute(name, value);
    }
    made.async = false;
    if (text !== null) made.src = `data:text/javascript;charset=utf-8,${encodeURIComponent(text.toWellFormed())}`;
    place.replaceWith(made);
    return made;
  };
  const onWindow = /^on(load|message|error|resize|hashchange)$/;
  document.addEventListener("DOMContentLoaded", (first) => {
    first.stopImmediatePropagation();
    document.documentElement.replaceWith(root);
    window.viewHandlers = handlers.map(([node, name]) => node === document.body && onWindow.test(name) ? window : node);
    let last = null;
    // Each for itself: one that is not a script does not stop the others.
    handlers.forEach(([, name, body], at) => {
      const place = document.createComment("");
      document.head.append(place);
      last = start([], `viewHandlers[${at}].${name} = function (event) {\n${body}\n};`, place);
    });
    scripts.forEach((each, at) => {
      last = start(each.attributes, each.hasAttribute("src") ? null : each.textContent, places[at]);
    });
    const ready = () => document.dispatchEvent(new Event("DOMContentLoaded", { bubbles: true }));
    last?.addEventListener("load", ready);
    last?.addEventListener("error", ready);
  }, { once: true, capture: true });
}
"""


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


VIEW_CSP: Final = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "media-src data:; connect-src 'none'; frame-src 'none'; child-src 'none'; worker-src 'none'; object-src 'none'; "
    "form-action 'none'; base-uri 'none'"
)
"""What a view may load: only what its own page contains."""
VIEW_SCRIPTS_CSP: Final = f"script-src {_hash(_RELAY)} {_hash(_START)} 'strict-dynamic'"
"""Which scripts run as well (both policies apply): the two above, and those they start."""


def frame_document(html: str, *, title: str = "View of a tool") -> str:
    """Return the HTML of the outer document for a view's page, to be used as `srcdoc`.

    The page that shows it listens for messages whose `event.source` is the frame's window, passes their data, a JSON
    text, to `FrameChannel.receive`, and posts the returned messages into the frame. Data that is `{closed: why}` means
    that the view was removed.

    Args:
        html: The view's page.
        title: The title of the frame.
    """
    from markupsafe import Markup

    start, relay = Markup(_START), Markup(_RELAY)  # noqa: S704 -- Loom's own scripts
    view = fragment("loomlib.agents.mcp_apps:view.html.j2", html=html, start=start)
    policies = (VIEW_CSP, VIEW_SCRIPTS_CSP)
    return str(
        fragment(
            "loomlib.agents.mcp_apps:frame.html.j2", policies=policies, sandbox=VIEW_SANDBOX, title=title, view=view,
            relay=relay,
        )
    )  # fmt: skip

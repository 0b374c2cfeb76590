# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A headless Chromium, spoken to in its own protocol through a pipe: nothing but Python and the browser is needed.

    with Browser() as browser:
        page = browser.open("report.html")
        page.press("n")
        page.evaluate("document.title")

What goes wrong in the page (exceptions, console errors, violations of its Content-Security-Policy) is collected in
page.problems, every request in page.requests, every dialog that was opened in page.dialogs.
"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60  # seconds for one answer: a loaded machine is slow, and a hang is still found


def find_browser():
    """Path of a browser; None: there is none."""
    named = os.environ.get("STREAMSAN_CHROMIUM")
    if named:
        return named
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="streamsan-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def pipes():
            # The browser reads descriptor 3 and writes descriptor 4.
            os.dup2(to_browser, 13)
            os.dup2(from_browser, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        command = [find_browser(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                   "--disable-dev-shm-usage", "--force-color-profile=srgb", f"--user-data-dir={self.profile}"]
        self._process = subprocess.Popen(command, preexec_fn=pipes, pass_fds=(3, 4), start_new_session=True,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._next = 0
        self._answers = {}
        self._pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, parameters=None, session=None):
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        number = self._next
        self.wait(lambda: number in self._answers, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait(self, holds, what):
        end = time.monotonic() + PATIENCE
        while not holds():
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{what}: no answer")
            if not select.select([self._read], [], [], min(left, 0.05))[0]:
                continue
            data = os.read(self._read, 1 << 20)
            if not data:
                raise RuntimeError(f"the browser ended during {what}")
            self._buffer += data
            *messages, self._buffer = self._buffer.split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message):
        if "id" in message:
            self._answers[message["id"]] = message
        elif message.get("sessionId") in self._pages:
            self._pages[message["sessionId"]].happened(message["method"], message["params"])

    def open(self, path, fragment="", width=1440, height=900, dark=False):
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session, target)
        self._pages[session] = page
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.dark(dark)
        page.go(path, fragment)
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.problems, self.requests, self.dialogs = [], [], []
        self.loaded = False

    def call(self, method, parameters=None):
        return self.browser.call(method, parameters, self.session)

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})

    def happened(self, method, what):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(what["exceptionDetails"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.problems.append(what["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "assert"):
            self.problems.append(json.dumps(what["args"]))
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(what["message"])

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})

    def dark(self, dark):
        self.call("Emulation.setEmulatedMedia",
                  {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def go(self, path, fragment=""):
        self.loaded = False
        self.call("Page.navigate", {"url": "file://" + os.path.abspath(path) + fragment})
        self.browser.wait(lambda: self.loaded, "loading the page")
        self.settle()

    def settle(self):
        """Waits until what was asked for has been drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True})
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key, modifiers=0):
        text = key if len(key) == 1 else ("\r" if key == "Enter" else "")
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(key, 0)
        common = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", "text": text, **common})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **common})
        self.settle()

    def type(self, text):
        self.call("Input.insertText", {"text": text})
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        self.settle()

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self, path):
        data = self.call("Page.printToPDF", {"printBackground": True})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

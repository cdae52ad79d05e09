"""Opens a page in a real Chromium and says what it shows.

  browse.py URL [--width 1280] [--height 900] [--dark] [--until TEXT] [--seconds 10] [--picture FILE] [--whole]

Chromium is driven through --remote-debugging-pipe (JSON messages that end with a zero byte, on descriptors 3 and 4), so
nothing but Python and Chromium is needed. Prints {"text": what stands on the page, "errors": what the console says,
"width": how wide the document is, "drawn": how many canvases have something drawn in them}. Exit code 77: there is no
Chromium.
"""

import argparse
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

DRAWN = """[...document.querySelectorAll('canvas')].filter((canvas) => canvas.width > 0 && canvas.height > 0 &&
    canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte !== 0)).length"""


class Browser:
    def __init__(self, executable, folder):
        to_read, self.to = os.pipe()
        self.come, to_write = os.pipe()
        arguments = [executable, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        # The shell between gives the pipes the numbers that Chromium expects.
        words = " ".join(f"'{argument}'" for argument in arguments)
        self.process = subprocess.Popen(["bash", "-c", f"exec {words} 3<&{to_read} 4>&{to_write}"],
                                        pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.number, self.session, self.errors = b"", 0, None, []

    def receive(self, deadline):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.come], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium has not answered")
            piece = os.read(self.come, 1 << 20)
            if not piece:
                raise EOFError("Chromium has ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(parameters["exceptionDetails"])[:2000])
        if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"] + " " + parameters["entry"].get("url", ""))
        if event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(json.dumps(parameters["args"])[:2000])

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 30
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def open(self, given):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=given.width, height=given.height, deviceScaleFactor=1,
                  mobile=given.width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if given.dark else "light"}])
        self.call("Page.navigate", url=given.url)

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError, RuntimeError):
            self.process.kill()
        self.process.wait()


def watch(browser, given):
    browser.open(given)
    deadline = time.monotonic() + given.seconds
    text = ""
    while time.monotonic() < deadline:
        time.sleep(0.1)
        text = browser.evaluate("document.body ? document.body.innerText : ''") or ""
        if given.until and given.until in text:
            break
    seen = {"text": text, "width": browser.evaluate("document.documentElement.scrollWidth"),
            "drawn": browser.evaluate(DRAWN)}
    if given.picture:
        picture = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=given.whole)
        with open(given.picture, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
    return {**seen, "errors": browser.errors}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--until", default="")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--picture")
    parser.add_argument("--whole", action="store_true", help="the picture is of the whole document")
    given = parser.parse_args()
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(executable, folder)
        try:
            print(json.dumps(watch(browser, given)))
        finally:
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A browser without a window, and the programs whose pages are tested."""
import os, pathlib, shutil, signal, socket, subprocess, time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

BUILD = pathlib.Path(os.environ.get("CHANNELS_BUILD", ".build-packages/debug"))
SCREENSHOTS = pathlib.Path(os.environ.get("CHANNELS_SCREENSHOTS", ".build-browser/screenshots"))
# Set by Tests/Browser/run --screenshots.
FOR_DOCUMENTATION = "CHANNELS_FOR_DOCUMENTATION" in os.environ
# For machines that do other things at the same time: how long to wait for what should come at once.
PATIENCE = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    """A program that serves a page, from its start to its end."""

    def __init__(self, name, *arguments, port=None):
        self.port = port or free_port()
        command = [str(BUILD / name), "--port", str(self.port), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.port}/"
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{name} does not serve: {self.process.stderr.read()}")
                time.sleep(0.05)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Browser:
    """A window of a size, in light or dark."""

    def __init__(self, width=1440, height=900, dark=False):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--lang=en"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, url):
        self.driver.get(url)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        """The text of the first element, "" if there is none."""
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", selector)

    def wait(self, condition, what, seconds=PATIENCE):
        """Waits until a condition holds, and returns what it returned."""
        return WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: condition(), f"not seen: {what}")

    def keys(self, *keys):
        """Types into whatever has the focus."""
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def keep(self, name, after=0):
        """Keeps a screenshot; where they are for the documentation, after some seconds, in which charts fill."""
        if FOR_DOCUMENTATION: time.sleep(after)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    def console(self):
        """Errors and warnings in the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

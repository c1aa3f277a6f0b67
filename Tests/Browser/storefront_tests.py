"""The page of Examples/Storefront, in a browser."""
import json, signal, tempfile, time, unittest, urllib.request

from browser import BUILD, Browser, Program
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


@unittest.skipUnless((BUILD / "Storefront").exists(), "it is not built there")
class StorefrontTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = Browser(1180, 900)
        cls.addClassCleanup(cls.page.driver.quit)

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="storefront-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.look(1180, 900, "light")
        self.page.open("about:blank")
        self.page.console()

    def look(self, width, height, scheme):
        """As a screen of a size, of somebody who likes it light or dark."""
        self.page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def start(self, rate=0, port=None):
        self.program = Program("Storefront", "--data", self.directory, "--rate", str(rate), port=port)
        self.addCleanup(self.program.stop)
        # Before the program ends: a page whose server goes says so on the console, to the next test.
        self.addCleanup(self.page.open, "about:blank")

    def open(self, rate=0):
        self.start(rate)
        self.page.open(self.program.url)
        self.wait_until_live()

    def wait_until_live(self):
        self.wait(lambda: self.text("#connection") == "Live" and self.text("#sales") != "–", "a live page")

    def wait(self, condition, what, seconds=20):
        return self.page.wait(condition, what, seconds)

    def text(self, selector):
        return self.page.text(selector)

    def find(self, selector):
        return self.page.driver.find_element(By.CSS_SELECTOR, selector)

    def script(self, code):
        return self.page.run("return " + code)

    def post(self, id, name="Table 1"):
        """Rings up a sale of ten dollars, and returns its number."""
        sale = {"id": id, "name": name, "menu": "Lunch", "guests": 2, "bill": 1000, "tip": 100}
        request = urllib.request.Request(
            self.program.url + "sales", json.dumps(sale).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)["number"]

    def numbers(self):
        return self.script("[...document.querySelectorAll('#recent tr')].map(row => Number(row.dataset.number))")

    def wait_for_numbers(self, *numbers):
        self.wait(lambda: self.numbers() == list(numbers), f"the sales {numbers}")

    def expect_quiet_console(self, *allowed):
        """Nothing is on the console, but what contains one of these texts."""
        self.assertEqual([line for line in self.page.console() if not any(text in line for text in allowed)], [])

    def test_loads_without_an_error_on_the_console(self):
        self.open()
        self.assertEqual(self.page.driver.title, "Storefront")
        self.assertEqual(self.text("#takings"), "$0.00")
        self.assertEqual(self.text("#empty"), "No sale yet.")
        self.expect_quiet_console()

    def test_shows_changes_within_a_second(self):
        self.open()
        delays = []
        for number in range(1, 8):
            begin = time.monotonic()
            self.post(f"s{number}")
            self.wait(lambda: self.text("#sales") == str(number), f"{number} sales")
            delays.append(time.monotonic() - begin)
        print(f"\na sale is shown after {1000 * sorted(delays)[3]:.0f} ms, {1000 * max(delays):.0f} ms at most")
        self.assertLess(sorted(delays)[3], 1)
        self.wait_for_numbers(7, 6, 5, 4, 3, 2, 1)
        self.assertEqual(self.text("#takings"), "$70.00")
        self.wait(lambda: self.text("#mailed") == "7", "seven receipts")
        self.expect_quiet_console()

    def test_several_tabs_show_the_same(self):
        self.open()
        driver = self.page.driver
        first = driver.current_window_handle
        driver.switch_to.new_window("window")
        second = driver.current_window_handle
        self.page.open(self.program.url)
        self.wait_until_live()
        for number in range(1, 4):
            self.post(f"s{number}")
        self.wait_for_numbers(3, 2, 1)
        driver.close()
        driver.switch_to.window(first)
        self.wait_for_numbers(3, 2, 1)
        self.assertNotEqual(first, second)

    def test_survives_a_restart_without_a_repeat(self):
        self.open()
        for number in range(1, 4):
            self.post(f"s{number}")
        self.wait_for_numbers(3, 2, 1)
        for how in [signal.SIGKILL, signal.SIGTERM]:
            self.program.process.send_signal(how)
            self.program.process.wait()
            self.wait(lambda: "lost" in self.text("#connection"), "that the connection is lost")
            # What is known stays there.
            self.assertEqual(self.numbers()[-1], 1)
            self.start(port=self.program.port)
            self.wait(lambda: self.text("#connection") == "Live", "a live page")
            count = self.post(f"after-{how}")
            self.wait_for_numbers(*range(count, 0, -1))
            self.assertEqual(self.text("#takings"), f"${10 * count}.00")
        self.assertEqual(self.text("#missed"), "")
        self.expect_quiet_console("/events")

    def test_hostile_names_are_text(self):
        self.open()
        names = {
            "<img src=x onerror=document.title='taken'>": None,
            "</td></tr></table><script>document.title='taken'</script>": None,
            "&lt;b&gt;'\"`${1}": None,
            "\u202etxet sdrawkcab": "⟨U+202E⟩txet sdrawkcab",
            "مطعم 7": None,
        }
        for number, (name, shown) in enumerate(names.items(), 1):
            self.post(f"s{number}", name=name)
            self.wait(lambda: self.numbers()[:1] == [number], "the sale")
            self.assertEqual(self.text("#recent tr td.name"), shown or name)
        self.assertEqual(self.script("document.querySelectorAll('#recent img, #recent script, #recent b').length"), 0)
        self.assertEqual(self.page.driver.title, "Storefront")
        self.page.keep("storefront-hostile")
        self.expect_quiet_console()

    def test_works_by_keyboard_alone(self):
        self.open()
        focused = "(document.activeElement.name || document.activeElement.className || document.activeElement.tagName)"
        order = []
        for _ in range(7):
            self.page.keys(Keys.TAB)
            order.append(self.script(focused))
            self.assertEqual(self.script("getComputedStyle(document.activeElement).outlineStyle"), "solid")
        self.assertEqual(order, ["skip", "name", "menu", "guests", "bill", "tip", "wide"])
        # From the start again, by the link that skips to the till.
        self.page.driver.refresh()
        self.wait_until_live()
        self.page.keys(Keys.TAB)
        self.page.keys(Keys.ENTER)
        self.page.keys(Keys.TAB)
        self.page.keys("Ana", Keys.TAB, "l", Keys.TAB, "3", Keys.TAB, "20", Keys.TAB, "30", Keys.ENTER)
        self.wait(lambda: "the tip is larger" in self.text("#answer"), "that it is held")
        # The focus is still where it was.
        self.page.keys(Keys.BACKSPACE, Keys.BACKSPACE, "2.50", Keys.ENTER)
        self.wait(lambda: "number 1" in self.text("#answer"), "that it is booked")
        self.wait_for_numbers(1)
        self.assertEqual(self.text("#takings"), "$20.00")
        self.assertEqual(self.text("#recent tr td.optional"), "Lunch")
        # Ready for the next.
        self.assertEqual(self.script(focused), "name")
        self.expect_quiet_console("422")

    def test_form_says_what_is_wrong_and_where(self):
        self.open()
        self.find("[name=name]").send_keys("Ana")
        self.find("[name=bill]").send_keys("a lot", Keys.ENTER)
        self.wait(lambda: self.text("#answer") == "bill: a number, please", "the reason")
        self.assertEqual(self.find("[name=bill]").get_attribute("aria-invalid"), "true")
        self.find("[name=bill]").clear()
        self.find("[name=bill]").send_keys("20")
        self.find("[name=name]").clear()
        self.find("button").click()
        self.wait(lambda: self.text("#answer") == "name: 1 to 200 bytes", "the reason")
        self.assertEqual(self.script("document.activeElement.name"), "name")
        self.expect_quiet_console("400")

    def test_is_read_out(self):
        self.open(rate=50)
        for name in ["name", "menu", "guests", "bill", "tip"]:
            self.assertTrue(self.find(f"[name={name}]").accessible_name)
        for selector in ["#connection", "#answer", "#missed"]:
            self.assertEqual(self.find(selector).aria_role, "status")
        # Now and then, and not with each of the changes.
        self.assertEqual(self.find("#summary").get_attribute("aria-live"), "polite")
        self.wait(lambda: self.text("#summary").startswith("Takings $"), "the summary")

    def test_is_fit_to_be_seen_light_dark_and_narrow(self):
        self.open(rate=20)
        self.wait(lambda: int(self.text("#sales").replace(",", "")) > 300, "300 sales", 60)
        papers = set()
        for name, width, height, scheme in [
            ("light", 1180, 900, "light"), ("dark", 1180, 900, "dark"),
            ("narrow", 375, 812, "light"), ("narrow-dark", 320, 700, "dark"),
        ]:
            self.look(width, height, scheme)
            papers.add(self.script("getComputedStyle(document.body).backgroundColor"))
            self.assertLessEqual(self.script("document.documentElement.scrollWidth"), width)
            self.page.keep(f"storefront-{name}")
        self.assertEqual(len(papers), 2)
        self.expect_quiet_console()

    def test_hidden_tab_lets_its_connection_go_and_comes_back(self):
        self.open()
        hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});" \
            "document.dispatchEvent(new Event('visibilitychange'));"
        self.page.run(hide % "true")
        for number in range(1, 4):
            self.post(f"s{number}")
        self.page.run(hide % "false")
        self.wait_for_numbers(3, 2, 1)
        self.assertEqual(self.text("#missed"), "")

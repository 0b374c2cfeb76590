# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the HTML report share: one browser for a class, the sample pages, and what must hold of every page.

The program that runs them names the product, the maker of samples and the traces; see page_test.py.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from browser import Browser

STREAMSAN, SAMPLES, TRACES = sys.argv[1:4]
NAMES = ("race", "syncs", "times", "hostile", "big", "processes", "no-view", "nothing", "partial", "unwatched", "group")


class PageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="streamsan-html-")
        cls.browser = Browser()
        for name in NAMES:
            with open(cls.path(name), "wb") as file:
                subprocess.run([SAMPLES, name], stdout=file, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name + ".html")

    def open(self, name, fragment="", **more):
        page = self.browser.open(self.path(name), fragment, **more)
        self.addCleanup(page.close)
        self.addCleanup(self.assert_quiet, page)
        return page

    def assert_quiet(self, page):
        """Nothing went wrong, nothing was fetched, nothing ran that should not."""
        self.assertEqual(page.problems, [])
        self.assertEqual(page.dialogs, [])
        self.assertEqual([url for url in page.requests if not url.startswith("file://" + self.folder.name)], [])

    def picture(self, page, name):
        folder = os.environ.get("STREAMSAN_SCREENSHOTS")
        if folder:
            os.makedirs(folder, exist_ok=True)
            page.screenshot(os.path.join(folder, name + ".png"))

    def text(self, page, selector):
        return page.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def count(self, page, selector):
        return page.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

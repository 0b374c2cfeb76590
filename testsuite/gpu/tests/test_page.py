# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import unittest

from suite import page

TEXT = '<html><a href="https://example.org">x</a><script type="application/json" id="data">%s</script></html>'
REPORT = {"findings": [{"message": "a race"}]}


class Pages(unittest.TestCase):
    def test_the_same_findings(self):
        self.assertEqual(page.complaints(TEXT % '{"findings": [{"deep": {"message": "a race"}}]}', REPORT), [])

    def test_other_findings(self):
        for data in ('{"findings": []}', '[{"message": "a race"}, {"message": "another"}]'):
            self.assertEqual(len(page.complaints(TEXT % data, REPORT)), 1)

    def test_no_page_or_no_report(self):
        self.assertEqual(len(page.complaints("", REPORT)), 1)
        self.assertEqual(len(page.complaints(TEXT % "{}", None)), 1)

    def test_a_page_that_needs_a_network(self):
        text = '<script src="https://example.org/x.js"></script>' + TEXT % '{"message": "a race"}'
        self.assertEqual(len(page.complaints(text, REPORT)), 1)


if __name__ == "__main__":
    unittest.main()

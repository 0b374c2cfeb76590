# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version stands in CMakeLists.txt; some files that others read without building anything have to repeat it."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "packaging"))
from wheel_file import project_version  # noqa: E402


class VersionsTest(unittest.TestCase):
    def only(self, name, pattern):
        found = re.findall(pattern, (ROOT / name).read_text(), re.M)
        self.assertTrue(found, f"{name} has no version")
        self.assertEqual(set(found), {project_version()}, name)

    def test_python(self):
        self.only("pyproject.toml", r'^version = "(.*)"')
        self.only("pyproject.toml", r"streamsan-tidy==([0-9.]+)")

    def test_action_has_no_package_of_its_own(self):
        """In no public index yet: a default would install what somebody else put there under the name."""
        package = (ROOT / "action.yml").read_text().split("  package:\n")[1].split("\n  measure:")[0]
        self.assertIn("required: true", package)
        self.assertNotIn("default:", package)

    def test_changes_begin_with_it(self):
        newest = re.search(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual(newest.group(1), project_version())

    def test_page(self):
        self.only("docs/install.md", r"streamsan(?:_tidy|-tidy)?[-_]([0-9.]+)[-_](?:py3|amd64)")


if __name__ == "__main__":
    unittest.main()

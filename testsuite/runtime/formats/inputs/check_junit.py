# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_junit.py FILE: the XML is well-formed, its counts are right, and no two test cases have one name. Prints the
test cases."""
import sys
import xml.etree.ElementTree

root = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites"
(suite,) = root
names = set()
counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
for case in suite:
    assert case.tag == "testcase", case.tag
    name = (case.attrib["classname"], case.attrib["name"])
    assert name not in names, name
    names.add(name)
    counts["tests"] += 1
    outcome = "passed"
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            outcome = child.tag
            counts[{"failure": "failures", "error": "errors"}.get(child.tag, child.tag)] += 1
            assert child.attrib["message"], child.attrib
        else:
            assert child.tag in ("system-out", "system-err"), child.tag
    print(outcome, *name, case.attrib.get("file", "-") + ":" + case.attrib.get("line", "-"))
for tag in (root, suite):
    for key, value in counts.items():
        assert tag.attrib[key] == str(value), (key, tag.attrib)

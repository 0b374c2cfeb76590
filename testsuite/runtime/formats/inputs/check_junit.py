# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_junit.py FILE: the XML is well-formed, has nothing that the schema of Jenkins' xUnit plug-in does not allow, its
counts are right, and no two test cases have one name. Prints the test cases."""
import re
import sys
import xml.etree.ElementTree

# Of that schema (junit-10.xsd), what is written: the attributes of each element, those that it must have first.
ALLOWED = {
    "testsuites": ((), ("name", "tests", "failures", "errors", "time")),
    "testsuite": (("name", "tests", "failures", "errors"), ("skipped", "time", "timestamp", "hostname", "id", "package", "file")),
    "testcase": (("name",), ("classname", "time", "group")),
    "failure": ((), ("type", "message")),
    "error": ((), ("type", "message")),
    "skipped": ((), ("type", "message")),
    "system-out": ((), ()),
    "system-err": ((), ()),
}

root = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites"
(suite,) = root
for element in root.iter():
    needed, allowed = ALLOWED[element.tag]
    assert set(needed) <= set(element.attrib) <= {*needed, *allowed}, (element.tag, element.attrib)
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
    place = re.search(r"#0 (.*:\d+)", "".join(case.itertext()))
    print(outcome, *name, place.group(1) if place else "-:-")
for tag in (root, suite):
    for key, value in counts.items():
        if tag is suite or key != "skipped":
            assert tag.attrib[key] == str(value), (key, tag.attrib)

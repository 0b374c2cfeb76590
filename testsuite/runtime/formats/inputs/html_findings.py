# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""html_findings.py FILE: what an HTML report holds, as it will show it: each finding with its place, and below those of one
missing edge how many their fix repairs. testsuite/html looks at the page in a browser."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    data = json.loads(re.search(r'id="data">(.*?)</script>', file.read(), re.DOTALL).group(1))
prints = {finding["fingerprint"] for finding in data["findings"]}
groups = {}
for finding in data["findings"]:
    if finding["group"]:
        assert finding["group"] in prints, "a group is named after one of its findings"
        groups.setdefault(finding["group"], []).append(finding)
    else:
        print("alone:", finding["severity"], finding["place"])
for number, findings in enumerate(groups.values(), 1):
    assert len({finding["fix"] for finding in findings}) == 1, "one fix for all"
    for finding in findings:
        print(f"group {number}:", finding["severity"], finding["place"])
    print(f"group {number}: {len(findings)} findings, one fix: {findings[0]['fix']}")
summary = data["summary"]
print("operations:", summary["operations"], "errors:", summary["errors"], "whole:", summary["whole"])

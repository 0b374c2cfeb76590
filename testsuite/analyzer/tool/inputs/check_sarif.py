# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_sarif.py FILE: what SARIF 2.1.0 demands of a log, as far as streamsan-tidy writes it. Prints its results."""
import json
import pathlib
import re
import sys

with open(sys.argv[1], encoding="utf-8") as text:
    log = json.load(text)


def region(place):
    assert place["artifactLocation"]["uri"], place
    assert not place["artifactLocation"]["uri"].startswith("/"), "a path is no URI"
    if place["artifactLocation"].get("uriBaseId"):
        assert place["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"], place
        assert ".." not in place["artifactLocation"]["uri"], place
    if "region" in place:
        assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1, place


assert log["version"] == "2.1.0" and "sarif-2.1.0" in log["$schema"]
(run,) = log["runs"]
driver = run["tool"]["driver"]
assert driver["name"] == "streamsan-tidy" and driver["version"]
table = (pathlib.Path(__file__).resolve().parents[4] / "analyzer/analysis/checks.def").read_text(encoding="utf-8")
checks = re.findall(r'^SS_CHECK\(\w+, "([\w-]+)"', table, re.MULTILINE)
ids = [rule["id"] for rule in driver["rules"]]
assert checks and ids == [f"streamsan-{check}" for check in checks], ids
for rule in driver["rules"]:
    assert rule["shortDescription"]["text"] and "docs/checks/" in rule["help"]["text"], rule
    assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note"), rule
for base in run["originalUriBaseIds"].values():
    assert re.fullmatch(r"file:///.*/", base["uri"]), base
assert isinstance(run["invocations"][0]["executionSuccessful"], bool)
for note in run["invocations"][0]["toolExecutionNotifications"]:
    assert note["message"]["text"] and note["level"] in ("error", "note"), note

for result in run["results"]:
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"], result
    assert result["level"] in ("error", "warning", "note") and result["message"]["text"], result
    (location,) = result["locations"]
    region(location["physicalLocation"])
    for related in result["relatedLocations"]:
        region(related["physicalLocation"])
        assert related["message"]["text"], related
    assert re.fullmatch(r"[0-9a-f]{16}(#\d+)?", result["partialFingerprints"]["streamsan/v1"]), result
    orders = []
    lanes = []
    for flow in result["codeFlows"]:
        for thread in flow["threadFlows"]:
            lanes.append(thread["id"])
            assert thread["locations"], thread
            for step in thread["locations"]:
                region(step["location"]["physicalLocation"])
                orders.append(step["executionOrder"])
    assert sorted(orders) == list(range(1, len(orders) + 1)), orders
    assert len(set(lanes)) == len(lanes), lanes
    for fix in result.get("fixes", []):
        for change in fix["artifactChanges"]:
            assert change["replacements"], change
    place = location["physicalLocation"]
    print(result["ruleId"], result["level"], result.get("baselineState", "-"), place["artifactLocation"]["uri"],
          place["region"]["startLine"], "lanes:", *sorted(lanes))
print("successful:", run["invocations"][0]["executionSuccessful"])

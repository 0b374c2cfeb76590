# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_sarif.py FILE [SCHEMA]: what SARIF 2.1.0 and GitHub code scanning demand of a log, as far as streamsan writes
it. Prints its results. With SCHEMA (OASIS' sarif-schema-2.1.0.json, which its licence and size keep out of this
repository) the whole log is validated by it, too; that takes the Python package jsonschema."""
import json
import re
import sys

LEVELS = ("error", "warning", "note")

with open(sys.argv[1], encoding="utf-8") as text:
    log = json.load(text)
if len(sys.argv) > 2:
    import jsonschema

    with open(sys.argv[2], encoding="utf-8") as text:
        jsonschema.validate(log, json.load(text))


def only(thing, *names):
    assert set(thing) <= set(names), set(thing) - set(names)


def message(thing):
    only(thing, "text")
    assert thing["text"] and "\0" not in thing["text"], thing


def physical(place):
    only(place, "artifactLocation", "region")
    artifact = place["artifactLocation"]
    only(artifact, "uri", "uriBaseId")
    assert re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+", artifact["uri"].removeprefix("file://")), artifact
    if "uriBaseId" in artifact:
        assert artifact["uriBaseId"] in run["originalUriBaseIds"], artifact
        assert not artifact["uri"].startswith("/") and ".." not in artifact["uri"].split("/"), artifact
    else:
        assert artifact["uri"].startswith("file:///"), artifact
    only(place["region"], "startLine", "startColumn")
    assert all(type(n) is int and n >= 1 for n in place["region"].values()), place


def location(thing):
    only(thing, "id", "physicalLocation", "logicalLocations", "message")
    if "physicalLocation" in thing:
        physical(thing["physicalLocation"])
    for logical in thing.get("logicalLocations", []):
        only(logical, "fullyQualifiedName", "kind")
        assert logical["fullyQualifiedName"] and logical["kind"] == "function", logical
    if "message" in thing:
        message(thing["message"])


only(log, "$schema", "version", "runs")
assert log["version"] == "2.1.0" and "sarif-2.1.0" in log["$schema"]
(run,) = log["runs"]
only(run, "tool", "columnKind", "originalUriBaseIds", "invocations", "results")
driver = run["tool"]["driver"]
only(driver, "name", "version", "rules")
assert driver["name"] == "streamsan" and driver["version"]
ids = [rule["id"] for rule in driver["rules"]]
assert len(set(ids)) == len(ids)
for rule in driver["rules"]:
    assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"] and rule["help"]["text"], rule
    assert rule["defaultConfiguration"]["level"] in LEVELS, rule
    assert re.fullmatch(r"docs/[a-z]+\.md", rule["properties"]["page"]), rule
for base in run["originalUriBaseIds"].values():
    assert re.fullmatch(r"file:///(.*/)?", base["uri"]), base
(invocation,) = run["invocations"]
only(invocation, "executionSuccessful", "exitCode", "toolExecutionNotifications")
assert type(invocation["executionSuccessful"]) is bool and type(invocation["exitCode"]) is int
for note in invocation["toolExecutionNotifications"]:
    message(note["message"])
    assert note["level"] in LEVELS, note

fingerprints = set()
for result in run["results"]:
    only(result, "ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "codeFlows", "stacks",
         "partialFingerprints", "occurrenceCount", "suppressions", "properties")
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"], result
    assert result["level"] in LEVELS, result
    message(result["message"])
    (place,) = result["locations"]
    location(place)
    assert "physicalLocation" in place, "GitHub refuses the whole file"
    for number, related in enumerate(result["relatedLocations"], 1):
        location(related)
        assert related["id"] == number and "message" in related and "physicalLocation" in related, related
    lanes, orders = [], []
    for flow in result.get("codeFlows", []):
        only(flow, "threadFlows")
        for thread in flow["threadFlows"]:
            only(thread, "id", "message", "locations")
            message(thread["message"])
            lanes.append(thread["id"])
            assert thread["locations"], thread
            for step in thread["locations"]:
                only(step, "location", "nestingLevel", "executionOrder")
                location(step["location"])
                assert "physicalLocation" in step["location"] and step["nestingLevel"] >= 0, step
                orders.append(step["executionOrder"])
    assert orders == list(range(1, len(orders) + 1)) and len(set(lanes)) == len(lanes), (orders, lanes)
    stacks = [json.dumps(stack) for stack in result.get("stacks", [])]
    assert len(set(stacks)) == len(stacks), "the standard wants them to be different"
    for stack in result.get("stacks", []):
        only(stack, "message", "frames")
        for frame in stack["frames"]:
            only(frame, "location", "module")
            location(frame["location"])
    prints = result["partialFingerprints"]
    only(prints, "streamsan/v1", "streamsanBuild/v1")
    assert all(re.fullmatch(r"[0-9a-f]{16}", print_) for print_ in prints.values()), prints
    fingerprints.add(prints["streamsanBuild/v1"])
    assert result["occurrenceCount"] >= 1, result
    for suppression in result.get("suppressions", []):
        assert suppression == {"kind": "external", "status": "accepted"}, suppression
    spot = place["physicalLocation"]
    print(result["ruleId"], result["level"], f"{spot['artifactLocation']['uri']}:{spot['region']['startLine']}",
          "suppressed" if "suppressions" in result else "lanes:", *lanes)
assert len(fingerprints) == len(run["results"]), "findings of several processes are one result"
print("successful:", invocation["executionSuccessful"], "exit code:", invocation["exitCode"])

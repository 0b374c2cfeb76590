// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings come back from their file as they went in; older files are read; damaged ones are refused with the place.
#include "report/read_json.h"

#include <gtest/gtest.h>

#include "report/json.h"
#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

std::string fault_of(std::string_view text) {
  FindingsFile file;
  return read_json(text, file);
}

/// A file that is right, with one word replaced.
std::string damaged(const std::string& word, const std::string& by) {
  std::vector<Finding> findings{sample_race(), sample_sync()};
  std::string text = json(findings, {});
  const std::size_t at = text.find(word);
  EXPECT_NE(at, std::string::npos) << word;
  return text.replace(at, word.size(), by);
}

TEST(ReadJson, EveryFieldComesBack) {
  std::vector<Finding> findings{sample_race(), sample_misuse(), sample_sync(), Finding{}};
  findings[0].accesses[0].evidence = Evidence::Widened;
  findings[0].suppressed = true;
  findings[0].count = 1ull << 60;
  findings[3].kind = Kind::Hint;
  findings[3].severity = Severity::Possible;
  const Summary summary{.errors = 1,
                        .latent = 2,
                        .possible = 3,
                        .notes = 4,
                        .suppressed = 5,
                        .operations = 1ull << 40,
                        .processes = 7,
                        .syncs = true,
                        .whole = false,
                        .warnings = {"one", "two"}};
  const std::string text = json(findings, summary);
  FindingsFile file;
  ASSERT_EQ(read_json(text, file), "");
  EXPECT_EQ(file.schema, kJsonSchema);
  ASSERT_EQ(file.findings.size(), 4u);
  EXPECT_EQ(json(file.findings, file.summary), text);
}

TEST(ReadJson, TheFirstVersionIsRead) {
  const std::string text = R"({"findings": [{"kind": "race", "severity": "latent", "message": "m", "pid": 3,
    "accesses": [{"verb": "Read", "exact": false, "begin": "0x10", "end": "0x20", "stack": []},
                 {"verb": "Write", "exact": true}],
    "buffer": null, "fingerprint": "00112233445566ff"}],
    "summary": {"errors": 0, "latent": 1, "warnings": []}})";
  FindingsFile file;
  ASSERT_EQ(read_json(text, file), "");
  EXPECT_EQ(file.schema, 1u);
  ASSERT_EQ(file.findings.size(), 1u);
  const Finding& f = file.findings[0];
  EXPECT_EQ(f.severity, Severity::Latent);
  EXPECT_EQ(f.accesses.at(0).evidence, Evidence::Inferred);
  EXPECT_EQ(f.accesses.at(1).evidence, Evidence::Exact);
  EXPECT_EQ(f.accesses[0].end, 0x20u);
  EXPECT_FALSE(f.buffer);
  EXPECT_FALSE(f.sync);
  EXPECT_EQ(f.count, 1u);
}

TEST(ReadJson, SynchronisationsThatAreToStayAreReadAgain) {
  std::vector<Finding> findings{sample_race(), sample_sync()};
  findings[1].sync->verdict = Verdict::Needed;
  const std::string text = json(findings, {.errors = 1, .syncs = true});
  FindingsFile file;
  ASSERT_EQ(read_json(text, file), "");
  ASSERT_EQ(file.findings.size(), 2u);
  EXPECT_TRUE(file.findings[1].sync);
  EXPECT_EQ(json(file.findings, file.summary), text);
}

TEST(ReadJson, WhatANewerVersionAddsIsPassedOver) {
  EXPECT_EQ(fault_of(damaged("\"schema\": 3", "\"schema\": 99, \"more\": {\"a\": []}")), "");
  EXPECT_EQ(fault_of(damaged("\"pid\": 4711", "\"later\": null, \"pid\": 4711")), "");
}

TEST(ReadJson, HazardsAndCausesOfANewerVersionAreKept) {
  FindingsFile read;
  ASSERT_EQ(read_json(damaged("\"hazard\": \"read-after-write\"", "\"hazard\": \"one-of-tomorrow\""), read), "");
  EXPECT_EQ(read.findings.at(0).hazard.text(), "one-of-tomorrow");
  EXPECT_EQ(read.findings.at(0).hazard.known(), std::nullopt);
  EXPECT_EQ(read.findings.at(0).cause, Cause::RecordedTooEarly);
  EXPECT_NE(json(read.findings, read.summary).find("\"hazard\": \"one-of-tomorrow\""), std::string::npos);
}

TEST(ReadJson, AnyOtherUnknownWordIsAFault) {
  EXPECT_EQ(fault_of(damaged("\"verdict\": \"narrower\"", "\"verdict\": \"perhaps\"")),
            "findings[1].sync.verdict: one of unneeded, narrower, timing, unknown, needed is expected");
  EXPECT_EQ(fault_of(damaged("\"waits\": \"device\"", "\"waits\": \"for ever\"")),
            "findings[1].sync.waits: one of device, stream, event, barrier, copy, fill, free is expected");
  EXPECT_EQ(fault_of(damaged("\"evidence\": \"measured\"", "\"evidence\": \"\"")),
            "findings[1].sync.evidence: one of measured, inferred is expected");
  EXPECT_EQ(
      fault_of(damaged("\"kind\": \"blocking\"", "\"kind\": \"blocked\"")),
      "findings[0].accesses[1].stream.kind: one of legacy, per-thread, blocking, non-blocking, graph is expected");
}

TEST(ReadJson, TheFirstFaultIsReportedWithItsPlace) {
  EXPECT_EQ(fault_of(damaged("\"pid\": 4711", "\"pid\": \"x\"")),
            "findings[0].pid: a whole number up to 4294967295 is expected");
  EXPECT_EQ(fault_of(damaged("\"pid\": 4711", "\"pid\": -1")),
            "findings[0].pid: a whole number up to 4294967295 is expected");
  EXPECT_EQ(fault_of(damaged("\"line\": 88", "\"line\": 4294967296")),
            "findings[0].accesses[0].stack[1].line: a whole number up to 4294967295 is expected");
  EXPECT_EQ(fault_of(damaged("\"severity\": \"error\"", "\"severity\": \"grave\"")),
            "findings[0].severity: one of error, latent, possible, note is expected");
  EXPECT_EQ(fault_of(damaged("\"kind\": \"race\"", "\"kind\": 7")),
            "findings[0].kind: one of race, premature-free, host-race, event-misuse, unneeded-sync, hidden-sync, hint "
            "is expected");
  EXPECT_EQ(fault_of(damaged("\"0x7f000000a000\"", "\"7f000000a000\"")),
            "findings[0].accesses[0].begin: an address like \"0x7f12\" is expected");
  EXPECT_EQ(fault_of(damaged("\"0x7f000000a000\"", "\"0x\"")),
            "findings[0].accesses[0].begin: an address like \"0x7f12\" is expected");
  EXPECT_EQ(fault_of(damaged("\"0x7f000000a000\"", "\"0x11112222333344445\"")),
            "findings[0].accesses[0].begin: an address like \"0x7f12\" is expected");
  EXPECT_EQ(fault_of(damaged("\"library\": true", "\"library\": 1")),
            "findings[0].accesses[0].stack[0].library: true or false is expected");
  EXPECT_EQ(fault_of(damaged("\"blocked_ms\": 1.5", "\"blocked_ms\": []")),
            "findings[1].sync.blocked_ms: a number is expected");
  EXPECT_EQ(fault_of(R"({"findings": [7], "summary": {}})"), "findings[0]: an object is expected");
  EXPECT_EQ(fault_of(R"({"findings": {}, "summary": {}})"), "findings: a list is expected");
}

TEST(ReadJson, WhatIsNoFileOfFindings) {
  EXPECT_TRUE(fault_of("{}").starts_with("not a file of findings"));
  EXPECT_TRUE(fault_of("[]").starts_with("not a file of findings"));
  EXPECT_TRUE(fault_of("").starts_with("not JSON: line 1, column 1: ")) << fault_of("");
  EXPECT_TRUE(fault_of("{\n  \"a\": tru\n").starts_with("not JSON: line 3, column 0: "))
      << fault_of("{\n  \"a\": tru\n");
  std::string text = damaged("pid", "pid");
  text.resize(text.size() / 2);
  EXPECT_TRUE(fault_of(text).starts_with("not JSON: line ")) << fault_of(text);
  EXPECT_EQ(fault_of(text).find('\n'), std::string::npos);
  EXPECT_TRUE(fault_of("{\"findings\": [\"\xff\"]}").starts_with("not JSON: line 1, column "));
  EXPECT_TRUE(fault_of(std::string(100000, '[')).starts_with("not JSON: ")) << "no recursion";
}

TEST(ReadJson, NamesThatAreNoUtf8ComeBackReplaced) {
  std::vector<Finding> findings{sample_nasty()};
  FindingsFile file;
  ASSERT_EQ(read_json(json(findings, {}), file), "");
  EXPECT_NE(file.findings[0].accesses[0].kernel.find("pwned\n::set"), std::string::npos) << "JSON has all";
}

}  // namespace
}  // namespace streamsan::report

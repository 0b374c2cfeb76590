// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON that other programs read: names and types of the fields, and that it is JSON whatever the strings hold.
#include "report/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

using Json = nlohmann::json;

TEST(Json, EveryFieldOfAFinding) {
  std::vector<Finding> findings{sample_race()};
  Json out = Json::parse(json(findings, {.errors = 1, .operations = 20, .processes = 1, .warnings = {"careful"}}));
  ASSERT_EQ(out.at("findings").size(), 1u);
  const Json& f = out["findings"][0];
  EXPECT_EQ(f.at("kind"), "race");
  EXPECT_EQ(f.at("severity"), "error");
  EXPECT_EQ(f.at("message"), sample_race().message);
  EXPECT_EQ(f.at("pid"), 4711);
  EXPECT_EQ(f.at("hazard"), "read-after-write");
  EXPECT_EQ(f.at("cause"), "event-recorded-too-early");
  EXPECT_EQ(f.at("rule"), "");
  EXPECT_EQ(f.at("overlap_begin"), "0x7f000000a000");
  EXPECT_EQ(f.at("overlap_end"), "0x7f000000b000");
  EXPECT_EQ(f.at("fingerprint"), "00112233445566ff");
  EXPECT_EQ(f.at("count"), 1);
  EXPECT_EQ(f.at("suppressed"), false);
  EXPECT_EQ(f.at("explanation"), sample_race().explanation);
  EXPECT_EQ(f.at("fix"), sample_race().fix);

  ASSERT_EQ(f.at("accesses").size(), 2u);
  const Json& later = f["accesses"][0];
  EXPECT_EQ(later.at("verb"), "Read");
  EXPECT_EQ(later.at("kernel"), "consume(float const*)");
  EXPECT_EQ(later.at("api"), "cuLaunchKernel");
  EXPECT_EQ(later.at("op"), 18);
  EXPECT_EQ(later.at("thread"), 1);
  EXPECT_EQ(later.at("thread_name"), "loader");
  EXPECT_EQ(later.at("main_thread"), true);
  EXPECT_EQ(f["accesses"][1].at("thread_name"), "");
  EXPECT_EQ(f["accesses"][1].at("main_thread"), false);
  EXPECT_EQ(later.at("exact"), false);
  EXPECT_EQ(later.at("bytes"), "inferred");
  EXPECT_EQ(f["accesses"][1].at("bytes"), "exact");
  EXPECT_EQ(later.at("stream"), (Json{{"name", "stream 2"}, {"kind", "non-blocking"}, {"handle", "0x5580"}}));
  EXPECT_EQ(later.at("stack")[1], (Json{{"address", "0x401234"},
                                        {"function", "step()"},
                                        {"file", "/src/train.cu"},
                                        {"line", 88},
                                        {"column", 5},
                                        {"module", "/opt/app/train"},
                                        {"offset", "0x1234"},
                                        {"language", ""},
                                        {"forward", false},
                                        {"library", false},
                                        {"symbolised", false}}));
  EXPECT_EQ(f.at("buffer").at("bytes"), 8192);
  EXPECT_EQ(f.at("buffer").at("allocator"), "cudaMalloc");
  EXPECT_EQ(f.at("related")[0].at("op"), 12);

  EXPECT_EQ(out.at("summary").at("errors"), 1);
  EXPECT_EQ(out["summary"].at("operations"), 20);
  EXPECT_EQ(out["summary"].at("warnings"), Json::array({"careful"}));
}

TEST(Json, AMisuseOfAnEvent) {
  std::vector<Finding> findings{sample_misuse()};
  Json f = Json::parse(json(findings, {.latent = 1}))["findings"][0];
  EXPECT_EQ(f.at("kind"), "event-misuse");
  EXPECT_EQ(f.at("accesses"), Json::array());
  EXPECT_TRUE(f.at("buffer").is_null());
  EXPECT_EQ(f.at("related")[0].at("api"), "cuStreamWaitEvent");
  EXPECT_EQ(f["related"][0].at("stream"), (Json{{"name", "stream 2"}, {"kind", "blocking"}, {"handle", "0x5580"}}));
  EXPECT_EQ(f["related"][0].at("op"), 3);
}

TEST(Json, ASynchronisation) {
  std::vector<Finding> findings{sample_sync()};
  Json out = Json::parse(json(findings, {.notes = 1, .syncs = true}));
  EXPECT_EQ(out.at("schema"), 3);
  EXPECT_EQ(out.at("tool").at("name"), "streamsan");
  EXPECT_EQ(out.at("summary").at("syncs"), true);
  const Json& sync = out["findings"][0].at("sync");
  EXPECT_EQ(sync.at("verdict"), "narrower");
  EXPECT_EQ(sync.at("calls"), 12);
  EXPECT_EQ(sync.at("blocked_ms"), 1.5);
  EXPECT_TRUE(sync.at("overlap_ms").is_null()) << "not measured";
  EXPECT_EQ(sync.at("orders")[0].at("earlier").at("api"), "cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(sync["orders"][0].at("count"), 7);
  EXPECT_EQ(sync.at("reasons").size(), 2u);
  EXPECT_EQ(out.at("waits"), Json::array());
  findings = {sample_race()};
  EXPECT_TRUE(Json::parse(json(findings, {}))["findings"][0].at("sync").is_null());
}

TEST(Json, ASynchronisationThatIsToStayIsNoFinding) {
  for (const Verdict verdict : {Verdict::Needed, Verdict::Timing, Verdict::Unknown}) {
    std::vector<Finding> findings{sample_sync()};
    findings[0].sync->verdict = verdict;
    const Json out = Json::parse(json(findings, {.syncs = true}));
    EXPECT_EQ(out.at("findings"), Json::array());
    EXPECT_EQ(out.at("waits")[0].at("sync").at("verdict"), name(verdict));
  }
}

TEST(Json, TheNameOfABuffer) {
  std::vector<Finding> findings{sample_race()};
  findings[0].buffer->name = "kv cache";
  EXPECT_EQ(Json::parse(json(findings, {}))["findings"][0].at("buffer").at("name"), "kv cache");
}

TEST(Json, NoFindings) {
  Json out = Json::parse(json({}, {}));
  EXPECT_EQ(out.at("findings"), Json::array());
  EXPECT_EQ(out.at("summary").at("errors"), 0);
}

TEST(Json, FindingWithoutABufferHasNull) {
  std::vector<Finding> findings{sample_race()};
  findings[0].buffer.reset();
  EXPECT_TRUE(Json::parse(json(findings, {}))["findings"][0].at("buffer").is_null());
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  std::vector<Finding> findings{sample_race()};
  findings[0].accesses[0].kernel = "k\xff\xfe";
  EXPECT_NO_THROW({ EXPECT_EQ(Json::parse(json(findings, {}))["findings"].size(), 1u); });
}

}  // namespace
}  // namespace streamsan::report

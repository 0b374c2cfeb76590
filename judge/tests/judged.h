// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trace from code, written, read and judged as the command line does it: for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "judge/explain.h"
#include "judge/hazards.h"
#include "judge/judge.h"
#include "judge/testing/trace_builder.h"
#include "judge/tests/temporary_file.h"
#include "trace/reader.h"

namespace streamsan::judge {

struct Judged {
  std::vector<report::Finding> findings;  ///< of hazards
  std::vector<report::Finding> misuses;   ///< of events
  std::vector<report::Finding> hidden_syncs;
  std::string failed_calls;
  std::vector<std::uint64_t> asked;  ///< functions that the judge wanted measured, in order
  std::vector<std::string> unmodelled;
  std::vector<std::string> shared;
  std::uint64_t graphs_of_kernels = 0;
  std::vector<MeasuredLaunch> measured_launches;  ///< for later runs
  std::uint64_t refuted = 0;
  std::uint64_t dropped = 0;
};

/// `ptx`: the code of the kernels; without it they have none.
inline Judged judged(const trace::TraceBuilder& trace, std::size_t most = 1000, std::string_view ptx = {},
                     bool read_code = true) {
  Judged out;
  TemporaryFile file(trace.bytes());
  std::string error;
  auto reader = trace::Reader::open(file.path(), {}, error);
  EXPECT_TRUE(reader) << error;
  Hazards hazards(most);
  Judge judge({}, hazards);
  judge.code().enable(read_code);
  if (!ptx.empty()) judge.code().add_text(ptx);
  judge.ask_through([&out](std::uint64_t function) { out.asked.push_back(function); });
  hazards.take_names_from(judge.handles());
  trace::Item item;
  while (reader->next(item) == trace::Step::Record) judge.consume(item);
  EXPECT_EQ(reader->problem(), "");
  Symbolizer none({.enabled = false, .tool = {}});
  hazards.name_devices();
  out.findings = explain(hazards.kept(), hazards.marks(), judge.places(), none);
  out.misuses = explain(judge.event_misuse(), hazards.kept(), judge.failed_calls(), judge.places(), none);
  out.hidden_syncs = judge.hidden_syncs().explain(judge.places(), none, hazards.marks());
  out.failed_calls = judge.failed_calls().summary();
  out.unmodelled = judge.unmodelled();
  out.shared = judge.shared();
  out.graphs_of_kernels = judge.graphs_of_kernels();
  out.measured_launches = judge.measured_launches().all(hazards);
  out.refuted = hazards.refuted();
  out.dropped = hazards.dropped();
  return out;
}

/// "read-after-write/error/no-edge" for each finding.
inline std::vector<std::string> hazards_of(const std::vector<report::Finding>& findings) {
  std::vector<std::string> out;
  for (const report::Finding& f : findings) {
    out.push_back(f.hazard.text() + "/" + report::name(f.severity) + "/" + f.cause.text());
  }
  return out;
}
using HazardList = std::vector<std::string>;

}  // namespace streamsan::judge

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judges one trace from its first record to its last, live or afterwards, and hands back what was found.
//
// The same function serves `run` and `check`, so that both find the same. It never fails as a whole: it judges a
// damaged trace up to the damage, and Verdict::damage says what is missing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/measuring.h"
#include "cli/options.h"
#include "report/finding.h"
#include "report/run_view.h"

namespace streamsan::trace {
class Reader;
}

namespace streamsan::cli {

struct Verdict {
  std::string trace;
  std::uint32_t pid = 0;
  std::string program;  ///< path of the executable
  std::vector<report::Finding> findings;
  std::optional<report::RunView> view;  ///< when an option asks for a picture of the run
  std::uint64_t operations = 0;
  std::uint32_t processes = 0;  ///< whose operations these are: one, but for a file of findings
  Measuring measuring;
  std::vector<std::string> warnings;  ///< what was not seen; for everybody
  std::vector<std::string> notes;     ///< for verbosity 1 and more
  std::string costs;                  ///< what waiting cost, if that was asked for and is known
  std::string damage;                 ///< the trace is not whole; empty: it is
  bool syncs_judged = false;          ///< each synchronising call site has its finding
};

struct TraceControl {
  bool live = false;
  bool consume = false;
  std::atomic<bool>* stop = nullptr;     ///< stop reading and report what was judged
  std::atomic<bool>* no_wait = nullptr;  ///< do not wait for the process any longer
  /// Called for each certain, unordered finding as soon as it is met; only when options.halt_on_error.
  std::function<void(std::uint32_t pid, report::Finding&)> on_error;
  /// Called now and then with slots read and slots written; may be empty.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  /// Called now and then while the process runs with what it has measured so far; may be empty.
  std::function<void(const Measuring&)> measuring;
};

/// How a trace that has been read to its end is not whole; empty: it is.
std::string damage_of(const trace::Reader& reader);

Verdict judge_trace(const std::string& path, const Options& options, const TraceControl& control);

}  // namespace streamsan::cli

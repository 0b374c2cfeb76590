// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens one trace, live or afterwards, has it judged (judge/run.h) and hands back what was found. It never fails as a
// whole: what goes wrong stands in Verdict::damage.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/measuring.h"
#include "cli/options.h"
#include "judge/run.h"
#include "report/finding.h"

namespace streamsan::cli {

struct Verdict : judge::Verdict {
  std::string trace;
  std::uint32_t processes = 0;  ///< whose operations these are: one, but for a file of findings
  Measuring measuring;
};

struct TraceControl {
  bool live = false;
  bool consume = false;
  std::atomic<bool>* stop = nullptr;     ///< stop reading and report what was judged
  std::atomic<bool>* no_wait = nullptr;  ///< do not wait for the process any longer
  /// Called for each certain, unordered finding as soon as it is met; only when options.halt_on_error.
  std::function<void(std::uint32_t pid, report::Finding&)> on_error;
  /// Marks those that are suppressed; called for findings that the program itself asks for. May be empty.
  std::function<void(std::vector<report::Finding>&)> suppress;
  /// Called now and then with slots read and slots written; may be empty.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  /// Called now and then while the process runs with what it has measured so far; may be empty.
  std::function<void(const Measuring&)> measuring;
};

Verdict judge_trace(const std::string& path, const Options& options, const TraceControl& control);

}  // namespace streamsan::cli

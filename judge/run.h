// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One trace, from its first record to its last: everything that is to be found in it, as findings.
//
// The same function serves a trace that is still being written and one that was kept, so that both find the same. The
// caller opens the trace and says by the Sinks what is to happen meanwhile; nothing here prints or writes. A trace that
// is damaged is judged as far as it is whole, and Verdict::damage says what is missing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "judge/measured_launches.h"
#include "ordering/model.h"
#include "report/finding.h"
#include "report/run_view.h"
#include "trace/reader.h"

namespace streamsan::judge {

struct RunOptions {
  std::string trace;  ///< its path: with `syncs` it is read again
  std::uint32_t max_findings = 0;
  ordering::Options::HostThreads host_threads = ordering::Options::HostThreads::Seen;
  bool kernel_code = false;  ///< kernels are read for the bytes they touch
  bool hints = false;
  bool syncs = false;  ///< each synchronising call site gets a finding
  bool timings = false;
  bool view = false;  ///< a picture of the run is wanted
  bool symbolize = false;
  std::string symbolizer;       ///< path of an external one
  bool shows_possible = false;  ///< findings below `latent` are shown to somebody
};

/// What goes to others while a trace is judged. Any of them may be empty.
struct Sinks {
  /// For each certain, unordered finding as soon as it is met.
  std::function<void(report::Finding&)> error;
  /// The program has asked what was found so far (trace::Kind::Ask): its question's number, and the findings.
  std::function<void(std::uint64_t number, std::vector<report::Finding>)> answer;
  /// Now and then.
  std::function<void(const trace::Reader&)> progress;
  /// Asked now and then: stop reading, and report what was judged?
  std::function<bool()> stop;
  /// Only of a trace that is being written: nothing has come. Waits up to `patience`; true: nothing more will.
  std::function<bool(std::chrono::milliseconds patience)> wait;
  /// At the end of such a trace: was the process killed?
  std::function<bool()> killed;
};

struct Verdict {
  std::uint32_t pid = 0;
  std::string program;  ///< path of the executable
  std::vector<report::Finding> findings;
  std::optional<report::RunView> view;
  std::uint64_t operations = 0;
  std::vector<std::string> warnings;  ///< what was not seen; for everybody
  std::vector<std::string> notes;     ///< for verbosity 1 and more
  std::string costs;                  ///< what waiting cost, if that was asked for and is known
  std::string damage;                 ///< the trace is not whole; empty: it is
  std::vector<MeasuredLaunch>
      measured_launches;           ///< what later runs may know; empty: the run was not judged to its end
  std::uint64_t device_waits = 0;  ///< see Judge::DeviceWaits
  std::uint64_t idle_device_waits = 0;
  bool syncs_judged = false;  ///< each synchronising call site has its finding
};

/// Judges the trace that the reader has opened into the verdict. What stands there when an exception comes out (no
/// memory, most likely) was judged.
void run(trace::Reader& reader, const RunOptions& options, const Sinks& sinks, Verdict& verdict);

/// How a trace that has been read to its end is not whole; empty: it is.
std::string damage_of(const trace::Reader& reader);

}  // namespace streamsan::judge

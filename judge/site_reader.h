// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The name of a site, and its call stack with functions and lines: the nouns of all reports.
//
// A caller first calls want() for every site that it will need, so that each module is symbolised in one go; then it
// reads them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "judge/failed_calls.h"
#include "judge/handles.h"
#include "judge/places.h"
#include "judge/symbolizer.h"
#include "judge/wording.h"
#include "report/finding.h"
#include "report/fingerprint.h"

namespace streamsan::judge {

using report::Fingerprint;

class SiteReader {
 public:
  SiteReader(const Places& places, Symbolizer& symbolizer) : places_(places), symbolizer_(symbolizer) {}

  void want(ordering::SiteId site);

  const std::vector<report::Frame>& stack(ordering::SiteId site);
  /// "cudaMemcpyAsync (host to device)", or the driver's name when no run-time function is in the stack; "write()",
  /// "the host", "the pool" where no call of CUDA was made. `launches`: a launch of a kernel that may have no name, and
  /// not something else that the call did. Empty for no site.
  std::string what(ordering::SiteId site, bool launches = false);
  /// The function called: of the driver, or of libc; empty: none.
  [[nodiscard]] std::string function(ordering::SiteId site) const;
  /// What the host did itself, by an instruction of the program, or what nobody saw: no call.
  [[nodiscard]] bool is_host_itself(ordering::SiteId site) const;
  /// What was done there, as a noun: as what(), but "the host's read", "the block's release".
  std::string action(ordering::SiteId site, const ordering::Access& access);
  /// " (train.cu:88)", " (backward of train.py:12)", or nothing.
  std::string place(ordering::SiteId site);
  [[nodiscard]] const Places& places() const { return places_; }

  report::AccessReport access(const ordering::Access& access, const StreamLife& stream);
  /// Without the name that the program gave it.
  report::BufferReport buffer(const ordering::AllocationInfo& allocation);

  FailureNouns failure(const FailedCall& call);
  /// A call that failed, as an operation that an explanation refers to.
  report::RelatedOp related(const FailedCall& call);

  /// The function called, the kernel, the frames in the program's own modules, and those in Python.
  void add_to(Fingerprint& print, ordering::SiteId site) const;

 private:
  bool symbolised(const RawFrame& frame, bool under_python);

  const Places& places_;
  Symbolizer& symbolizer_;
  std::map<std::uint32_t, std::vector<report::Frame>> stacks_;
};

/// A stream as reports name it.
report::Stream stream_report(const StreamLife& life);

/// "event 1".
std::string event_name(const EventLife& life);

}  // namespace streamsan::judge

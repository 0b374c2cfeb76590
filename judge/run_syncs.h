// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds synchronisation that is not needed. A trace that has been judged is judged again, without its waits
// (judge/sync_replay.h).
//
// This reads the file again from its first record. While a program still runs, the judge normally frees the parts of
// the file that it has read; with this option it must keep them. If the trace is incomplete, or the process was killed,
// no wait is called unneeded: the part that is missing may need it.
#pragma once

#include <string>
#include <vector>

#include "judge/run.h"
#include "judge/syncs.h"
#include "trace/reader.h"

namespace streamsan::judge {

class Symbolizer;

/// What is kept, when a trace is read for the first time, for judging it again.
class SyncNotes {
 public:
  void see(const trace::Item& item) {
    const trace::Kind kind = item.record->kind;
    if (kind == trace::Kind::HostIdle) keep(item);
    host_code_ |= kind == trace::Kind::HostFunction || kind == trace::Kind::GraphLaunch;
  }
  /// In the order of the operations' positions.
  std::vector<IdleMemory> take();

 private:
  void keep(const trace::Item& item);
  std::vector<IdleMemory> idle_;
  bool host_code_ = false;  ///< something was submitted that may run code on the host
};

/// Adds a finding to the verdict for each call site that synchronises. Returns the reason if it adds none, else "".
/// `reader` has read the whole trace.
std::string judge_syncs(Verdict& verdict, const RunOptions& options, const Sinks& sinks, const trace::Reader& reader,
                        SyncNotes notes, Symbolizer& symbolizer);

}  // namespace streamsan::judge

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Synchronisation that is not needed: a trace that was judged is judged again, without its waits (judge/sync_replay.h).
//
// The replays read the file from its first record on, so whoever reads live must leave it whole: nothing is
// consumed until all is done. Of a trace that is not whole, or of a process that did not end by
// itself, nothing is called unneeded: what is missing may need it.
#pragma once

#include <string>
#include <vector>

#include "judge/run.h"
#include "judge/syncs.h"
#include "trace/reader.h"

namespace streamsan::judge {

class Symbolizer;

/// What the first reading of a trace has to keep for the replays.
class SyncNotes {
 public:
  void see(const trace::Item& item) {
    const trace::Kind kind = item.record->kind;
    if (kind == trace::Kind::HostIdle) keep(item);
    host_code_ |= kind == trace::Kind::HostFunction || kind == trace::Kind::GraphLaunch;
  }
  /// By position of the operation.
  std::vector<IdleMemory> take();

 private:
  void keep(const trace::Item& item);
  std::vector<IdleMemory> idle_;
  bool host_code_ = false;  ///< something was submitted that may run code on the host
};

/// Adds a finding for each synchronising call site to the verdict, or answers why there are none. `reader` has come
/// to its end.
std::string judge_syncs(Verdict& verdict, const RunOptions& options, const Sinks& sinks, const trace::Reader& reader,
                        SyncNotes notes, Symbolizer& symbolizer);

}  // namespace streamsan::judge

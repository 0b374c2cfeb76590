// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--syncs`: a trace that was judged is judged again, without its waits (judge/sync_replay.h).
//
// The replays read the file from its first record on, so a live judge must have left it whole: with this option `run`
// takes nothing out of a trace until all is done. Of a trace that is not whole, or of a process that did not end by
// itself, nothing is called unneeded: what is missing may need it.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/trace_judge.h"
#include "judge/syncs.h"
#include "trace/reader.h"

namespace streamsan::judge {
class Symbolizer;
}

namespace streamsan::cli {

/// What the first reading of a trace has to keep for the replays.
class SyncNotes {
 public:
  void see(const trace::Item& item) {
    const trace::Kind kind = item.record->kind;
    if (kind == trace::Kind::HostIdle) keep(item);
    host_code_ |= kind == trace::Kind::HostFunction || kind == trace::Kind::GraphLaunch;
  }
  /// By position of the operation.
  std::vector<judge::IdleMemory> take();

 private:
  void keep(const trace::Item& item);
  std::vector<judge::IdleMemory> idle_;
  bool host_code_ = false;  ///< something was submitted that may run code on the host
};

/// Adds a finding for each synchronising call site to the verdict, or a warning why there are none. `reader` has come
/// to its end.
std::string judge_syncs(Verdict& verdict, const std::string& path, const Options& options, const TraceControl& control,
                 const trace::Reader& reader, SyncNotes notes, judge::Symbolizer& symbolizer);

}  // namespace streamsan::cli

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verdicts of sync_replay.h in words: one finding for each synchronising call site.
//
// Each finding says what the call waits for, what only this call orders, and what to do: keep it, remove it, or replace
// it by something narrower, in the names of the API that the program uses. A recommendation says that it was verified
// by replay, and how the bytes of kernels are known.
//
// FINGERPRINT: from the effect and the call's place, and not from the verdict, so that two runs can be compared by it.
#pragma once

#include <vector>

#include "judge/symbolizer.h"
#include "judge/sync_replay.h"
#include "judge/times.h"
#include "report/finding.h"

namespace streamsan::judge {

/// In the order in which the sites were met. Sites of one fingerprint and verdict are one. `times`: an observer of the
/// first replay, finished; nullptr: there was none.
std::vector<report::Finding> explain(const SyncJudgement& judgement, Symbolizer& symbolizer,
                                     const Times* times = nullptr);

}  // namespace streamsan::judge

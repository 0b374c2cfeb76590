// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judges a trace again without its waits, and decides whether each of them is needed (syncs.h).
//
//   pass 1   each wait left out on its own, all in one replay (sync_collector.h): needed, timing, unknown, unneeded;
//   pass 2   the ladders of all that are needed (sync_ladder.h), and in one more variant all that are unneeded left out
//            together: narrower; and if that variant is clean, all of them are removable;
//   else     at most kMostRounds times: which of them must be put back (sync_groups.h), and one replay that must be
//            clean.
//
// Each pass reads the whole trace; together they cost a few plain replays, whatever the number of sites.
//
// DOUBTS. If something in the run was not seen or is not modelled, any of the waits may be needed for it. Then no wait
// is called unneeded or narrower, and each verdict has the reason.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "judge/judge.h"
#include "judge/sync_collector.h"
#include "judge/syncs.h"

namespace streamsan::judge {

struct SyncInput {
  ordering::Options options;
  /// Gives a judge the whole trace from its first record on. False: it could not be read, or was interrupted.
  std::function<bool(Judge&)> feed;
  std::vector<IdleMemory> idle;  ///< by position
  /// Why nothing may be called unneeded, one clause each: what is known before the first replay.
  std::vector<std::string> doubts;
  /// Returns the calls that CUDA's libraries made for themselves, and not the program. May be empty: none is known.
  std::function<std::vector<ordering::SiteId>(const Places&, std::span<const ordering::SiteId>)> made_by_cuda;
  /// Adds further observers to the first replay; may be empty.
  std::function<void(Judge&)> observe;
};

/// What was found, and where it is.
class SyncJudgement {
 public:
  std::vector<SyncSite> sites;          ///< in the order in which they were met
  std::uint64_t inferred_launches = 0;  ///< launches of which not all bytes were known
  bool complete = false;                ///< all replays went through to their ends; else `sites` is empty
  unsigned replays = 0;
  bool together = false;  ///< all that are removable were left out or replaced together, in a replay that was clean

  /// The places that the sites refer to.
  [[nodiscard]] const Places& places() const { return replay_->judge.places(); }

  /// One replay of a plan. Kept for as long as its places are needed.
  struct Replay {
    Replay(const ordering::Options& options, ordering::Plan chosen, ordering::WhatIfSink& sink)
        : plan(std::move(chosen)), what_if{plan, sink}, hazards(0), judge(options, hazards, &what_if) {
      hazards.take_names_from(judge.handles());
    }
    ordering::Plan plan;
    ordering::WhatIf what_if;
    Hazards hazards;
    Judge judge;
  };

 private:
  friend SyncJudgement judge_syncs(const SyncInput& input);
  std::unique_ptr<SyncCollector> collector_;
  std::unique_ptr<Replay> replay_;
};

SyncJudgement judge_syncs(const SyncInput& input);

/// The verdict that pass 1 allows. `doubts`: of the whole run.
void decide(SyncSite& site, const std::vector<std::string>& doubts);

}  // namespace streamsan::judge

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phrases of a report about a wait: what is judged, what it waits for, between which operations it is needed, why
// it may be, and what could replace it. The sentences are in explain_syncs.cpp.
//
// Names of sites are looked up by the SiteReader given, which must have been asked for them before (SiteReader::want).
#pragma once

#include <string>

#include "judge/site_reader.h"
#include "judge/sync_replay.h"
#include "judge/syncs.h"

namespace streamsan::judge {

class SyncWords {
 public:
  /// Both must outlive this.
  SyncWords(const SyncJudgement& judgement, SiteReader& sites) : judgement_(judgement), sites_(sites) {}

  /// Is the runtime's interface used there, and not the driver's?
  bool runtime(const SyncSite& site);
  std::string waits_for(const SyncSite& site);
  /// What is judged: the call, or what it does besides its work.
  std::string subject(const SyncSite& site);
  /// "A (x.cu:3) on stream 1 and B (x.cu:5) on stream 2, and 3 more pairs"; empty: no pairs.
  std::string between(const SyncSite& site);
  /// A whole sentence; empty for kernels, which share one.
  std::string reason(const SyncExposure& exposure);
  /// The kernels of which it is not known what they use. Empty: none.
  std::string kernels(const SyncSite& site);
  std::string replacement(const SyncSite& site);
  /// The others of its group that can, or cannot, be removed; a few of them.
  std::string group_mates(const SyncSite& site, bool removable);

 private:
  /// "cudaDeviceSynchronize (train.cu:88)".
  std::string at(ordering::SiteId site) { return sites_.what(site) + sites_.place(site); }
  std::string call(const SyncSite& site) { return at(site.cut.site); }
  std::string action(const SyncPair& pair, bool later);
  /// A call, or what the host itself does with the memory.
  std::string place_of_move(const SyncSite& site, ordering::SiteId to);

  const SyncJudgement& judgement_;
  SiteReader& sites_;
};

}  // namespace streamsan::judge

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replacements of a needed wait: the ladder of narrower order, and the replay that tries all rungs.
//
// The pairs that only this site orders suggest a few replacements (rungs), the best first: a stream waits for an event
// in place of the host; the host waits for an event behind the last operation that is needed; for one stream in place
// of all; or later, in front of the first call that depends on it. Each is one variant of one replay. A rung holds when
// its replay has no pair that is worse than in the run, and when the host learns all that it may have acted upon.
//
// A rung helps only if it is really narrower than the present wait, which the replay's observer finds out: an event
// behind the last operation of its stream is the whole stream, one stream is the whole device if no other one has work,
// and moving a wait past nothing wins nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "judge/judge.h"
#include "judge/sync_collector.h"
#include "judge/syncs.h"
#include "ordering/flat_map.h"

namespace streamsan::judge {

struct SyncRung {
  std::size_t site = 0;  ///< index in the list of sites
  std::vector<ordering::Instead> instead;
  bool until_host = false;   ///< Move: until the host itself touches memory
  std::uint64_t useful = 0;  ///< calls in which it would have been narrower
  std::uint64_t vain = 0;    ///< Move: calls there that would be waits, and are none now
  bool clean = true;
};

/// The rungs for one site that is needed, the best first; none: nothing narrower is known.
std::vector<SyncRung> ladder(const SyncSite& site, std::size_t index);

/// The second replay. The variant numbers of its plan are rung numbers plus one, and after those one variant without
/// all sites that nothing seems to need.
class SyncTrial final : public ordering::WhatIfSink, public Observer {
 public:
  SyncTrial(std::vector<SyncRung> rungs, std::span<const SyncSite> sites, const IdleOperations& idle);
  void watch(Judge& judge) { judge_ = &judge; }

  void variant(ordering::VariantId, const ordering::Cut&) override {}
  void mattered(ordering::VariantId, ordering::OpId) override {}
  void pair(const ordering::Pair& pair) override;
  void exposed(const ordering::Exposure& exposure) override;
  [[nodiscard]] bool settled(ordering::VariantId variant) const override { return dirty_[variant]; }
  void observe(const trace::Item& item, ordering::OpId first, ordering::OpId last) override;

  /// It has a pair that is worse than in the run, or an exposure.
  [[nodiscard]] bool dirty(ordering::VariantId variant) const { return dirty_[variant]; }
  /// The rungs, with what was found out about them.
  std::vector<SyncRung> take();

 private:
  void operation(ordering::SiteId site, ordering::StreamId stream);
  void synchronises(ordering::SiteId site, std::optional<ordering::StreamId> only);
  /// A call of the site is made.
  void reached(ordering::SiteId site);
  void host_touches();
  /// A wait of this kind that has been moved may not find its event or stream as it was.
  void changes(SyncKind kind);
  void arrived(std::size_t rung);
  /// Can what the rung says be written at this call? Its streams must exist.
  [[nodiscard]] bool writable(const SyncRung& rung) const;
  void finish(ordering::VariantId variant) { dirty_[variant] = true; }

  struct Armed {
    bool armed = false;
    bool passed = false;  ///< work was submitted since
  };

  std::vector<SyncRung> rungs_;
  std::span<const SyncSite> sites_;
  const IdleOperations& idle_;
  Judge* judge_ = nullptr;
  std::vector<bool> dirty_;
  std::vector<Armed> armed_;
  std::size_t armed_count_ = 0;
  ordering::FlatMap<std::vector<std::uint32_t>> at_;     ///< site of the wait -> its rungs
  ordering::FlatMap<std::vector<std::uint32_t>> until_;  ///< site that a move leads to -> its rungs
  ordering::FlatMap<std::uint32_t> last_;                ///< stream -> site of its last operation
  std::vector<ordering::StreamId> busy_;                 ///< streams with work that no synchronisation has covered
};

}  // namespace streamsan::judge

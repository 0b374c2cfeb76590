// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects, while a trace is judged, what a picture of the run needs (report/run_view.h).
//
// It sees each record after the judge, and so can use the judge's streams, sites and numbers of operations. The
// edges it keeps are for the eye: what a wait waited for, found from simple notes (where each event was last recorded,
// what was last submitted to each stream), not by the model's clocks. They are never used to judge anything, and are
// proved against the reference model on random traces (tests/timeline_random_test.cpp): none is drawn where there is no
// order, and but for copies between two devices (R-CPY-40) no documented order is left out. Waits of today's driver
// that no document promises are drawn for calls that are made to wait, so not for asynchronous copies. A barrier of the
// legacy stream is an edge only from and to streams that did something in between; where one stream is used, as PyTorch
// does, there is none.
//
// WHAT IS KEPT. At most kMost operations, whatever the length of the run. Whenever four times as many have come
// together, and at the end, the rest goes; these stay, in this order of importance:
//   1. what findings are about: the accesses, the records and waits that an explanation names;
//   2. the calls at which the host waits, the first kCallsOfSite of each place, and what they waited for;
//   3. the neighbours of both, kAround on each side;
//   4. the beginning of the run.
// An operation that a later finding is about may be gone by then. The finding is complete nevertheless, and the page
// says how many operations are missing.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "judge/hazards.h"
#include "judge/judge.h"
#include "judge/symbolizer.h"
#include "ordering/copies.h"
#include "ordering/flat_map.h"
#include "report/run_view.h"

namespace streamsan::judge {

class Timeline : public Observer {
 public:
  static constexpr std::size_t kMost = 50'000;
  static constexpr std::uint64_t kAround = 40;
  static constexpr std::uint32_t kCallsOfSite = 64;
  static constexpr std::size_t kTouches = 8;  ///< buffers of one operation that are kept

  /// Both must outlive it. `most`: other than kMost for tests only.
  Timeline(Judge& judge, const Hazards& hazards, std::size_t most = kMost);

  void observe(const trace::Item& item, ordering::OpId first, ordering::OpId last) override;

  /// `findings`: whose operations are to be kept besides those of the hazards. Call once, at the end.
  report::RunView view(std::span<const report::Finding> findings, Symbolizer& symbolizer);

 private:
  using Seq = std::uint64_t;                                         ///< number of an operation met, from 1; 0: none
  static constexpr std::uint32_t kStreams = 0x80000000;              ///< lanes from here on are those of streams
  static constexpr std::uint32_t kMostEdgesOfSync = 64;              ///< one wait for very many streams
  static constexpr std::size_t kMostBuffers = std::size_t{1} << 20;  ///< of the run; what touches others is not kept

  struct Op {
    Seq seq = 0;
    std::uint64_t number = 0;  ///< as in findings; 0: none
    std::uint64_t upto = 0;    ///< operations of the run when it had been taken
    std::uint64_t position = 0;
    std::uint32_t lane = 0;
    std::uint32_t thread = 0;
    ordering::SiteId site{};
    std::uint32_t nth_of_site = 0;
    std::uint32_t event = 0;
    report::OpClass kind = report::OpClass::Other;
    Seq until = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t bytes = 0;
    std::vector<report::ViewTouch> touches;
  };
  struct Edge {
    Seq from = 0;
    Seq to = 0;
    report::EdgeKind kind{};
  };
  struct StreamLane {
    StreamLife life;
    Seq last = 0;               ///< what was submitted last
    Seq barrier = 0;            ///< the action of the legacy stream that it is known to be after
    bool since_sync = false;    ///< has done something since the host last waited for it
    bool since_legacy = false;  ///< ... since the last action of the legacy stream
  };
  struct Context {
    Seq legacy = 0;                           ///< the last action of its legacy stream
    std::vector<std::uint32_t> since_legacy;  ///< lanes of blocking streams
    std::vector<std::uint32_t> since_sync;
  };
  struct Buffer {
    ordering::Range range;
    ordering::MemoryKind kind{};
    ordering::SiteId site{};
  };
  struct Block {
    ordering::Address end = 0;
    std::uint32_t buffer = 0;
  };
  struct Pending {
    Seq op = 0;
    std::uint64_t position = 0;
  };

  // timeline.cpp: what records become. `last`: the operation's number
  Op& add(const trace::Item& item, ordering::OpId last, std::uint32_t lane, report::OpClass kind,
          std::uint32_t kernel = 0);
  void launch(const trace::Item& item, ordering::OpId last);
  void copy(const trace::Item& item, ordering::OpId last);
  void fill(const trace::Item& item, ordering::OpId last);
  void allocate(const trace::Item& item, ordering::OpId last);
  void free(const trace::Item& item, ordering::OpId last);
  void block(const trace::Item& item, ordering::OpId last);
  void event(const trace::Item& item, ordering::OpId last);
  void sync(const trace::Item& item);
  /// The call has waited for these, and for the work itself if it is `complete`.
  void host_waits(const trace::Item& item, const Op& work, ordering::HostEffect effect, const std::vector<Seq>& prior);
  void call_end(const trace::Item& item);
  void gpu_time(const trace::Item& item);

  // timeline_ledger.cpp: lanes, edges and buffers
  std::uint32_t thread_lane(std::uint16_t thread);
  std::uint32_t stream_lane(ordering::StreamId stream);
  /// `action`: in the sense of R-STR-10.
  void submitted(const Op& op, bool action = true);
  /// What a synchronisation with the lane's stream would wait for.
  [[nodiscard]] std::vector<Seq> last_of(std::uint32_t lane);
  void waited_for(Seq host, std::uint32_t lane);
  void waited_for_all(Seq host, ordering::ContextId context);
  void edge(Seq from, Seq to, report::EdgeKind kind);
  std::uint32_t buffer_of(const ordering::AllocationInfo& info);
  void touch(Op& op, ordering::Address address, bool reads, bool writes);
  void touch(Op& op, std::uint32_t buffer, bool reads, bool writes);

  // timeline_view.cpp: what is kept, and the view
  [[nodiscard]] std::vector<std::uint8_t> importance() const;
  void thin(std::size_t recent);
  [[nodiscard]] std::size_t index_of(Seq seq) const;

  Judge& judge_;
  const Hazards& hazards_;
  std::size_t most_;
  std::vector<Op> ops_;      ///< ascending by seq
  std::vector<Edge> edges_;  ///< ascending by `to`
  Seq next_ = 1;
  std::vector<std::uint64_t> wanted_;  ///< numbers of operations that the findings are about

  std::vector<std::uint16_t> threads_;
  ordering::FlatMap<std::uint32_t> thread_lanes_;  ///< thread -> lane + 1
  std::vector<StreamLane> streams_;
  ordering::FlatMap<std::uint32_t> stream_lanes_;  ///< StreamId -> index in streams_ + 1
  ordering::FlatMap<Context> contexts_;
  ordering::FlatMap<Seq> records_;          ///< EventId -> its last record
  ordering::FlatMap<std::uint32_t> calls_;  ///< SiteId -> calls at which the host waited
  ordering::FlatMap<Pending> pending_;      ///< thread -> its call that blocks
  std::vector<Buffer> buffers_;
  ordering::FlatMap<std::uint32_t> buffer_by_id_;  ///< AllocationId -> index + 1
  ordering::FlatMap<std::uint32_t> buffer_at_;     ///< where it begins -> the last one's index + 1
  std::map<ordering::Address, Block> blocks_;      ///< live blocks of pools
};

}  // namespace streamsan::judge

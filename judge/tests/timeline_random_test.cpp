// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The timeline's edges against the reference model of the order (ordering/tests/reference_model.h), on random traces.
//
// An edge of the picture, the operations of one lane, and "after the host's box" give an order. Compared are
//   1. SOUND. Each edge that is drawn is order in the reference, documented or assumed: between two operations, or from
//      an operation to what the host has waited for.
//   2. COMPLETE. What the reference orders by documented edges, a way through the picture orders.
// Intended, and kept out of the traces: a copy between two devices draws no barrier on the other one (R-CPY-40), and a
// wait for more streams than Timeline::kMostEdgesOfSync draws the first ones only.
//
// STREAMSAN_RANDOM_PROGRAMS in the environment: how many traces.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "judge/testing/trace_builder.h"
#include "judge/tests/judged.h"
#include "judge/timeline.h"
#include "ordering/tests/reference_model.h"

namespace streamsan::judge {
namespace {

using ordering::Footprint;
using ordering::Form;
using ordering::MemoryKind;
using ordering::OpId;
using ordering::ReferenceModel;
using ordering::StreamKind;
using report::RunView;

constexpr ordering::ThreadId kThread{1};
constexpr ordering::Call kCall{kThread, ordering::SiteId{1}};
constexpr ordering::ContextId kContext{0};
constexpr std::uint64_t kStreams[] = {trace::kLegacyStream, trace::kPerThreadStream, 0x1000, 0x2000, 0x3000};
constexpr std::uint64_t kBytes = 64;
constexpr unsigned kEvents = 3, kMemories = 5;
constexpr MemoryKind kKinds[kMemories] = {MemoryKind::Device, MemoryKind::DeviceAsync, MemoryKind::Managed,
                                          MemoryKind::Pinned, MemoryKind::Pageable};
constexpr std::uint64_t address_of(unsigned memory) { return 0x700000000000 + memory * 0x100000; }

/// One program, written as a trace and played to the reference.
class RandomRun {
 public:
  explicit RandomRun(unsigned seed) : random_(seed) {
    for (const std::uint64_t handle : kStreams) {
      const bool blocking = handle != kStreams[3];
      if (handle == trace::kLegacyStream) {
        streams_.push_back(model_.legacy_stream(kContext));
      } else if (handle == trace::kPerThreadStream) {
        streams_.push_back(model_.per_thread_stream(kContext, kThread));
      } else {
        trace_.stream_create(handle, blocking ? trace::NonBlocking::No : trace::NonBlocking::Yes);
        streams_.push_back(model_.create_stream(kContext, blocking ? StreamKind::Blocking : StreamKind::NonBlocking));
      }
    }
    for (unsigned i = 0; i < kEvents; ++i) {
      trace_.event_create(0xE0 + i);
      events_.push_back(model_.create_event());
    }
    for (unsigned i = 0; i < kMemories; ++i) allocate(i, 2);
    for (unsigned steps = 5 + below(25); steps > 0; --steps) step();
  }

  /// Empty: the picture is right.
  std::string disagreement() {
    TemporaryFile file(trace_.bytes());
    std::string error;
    auto reader = trace::Reader::open(file.path(), {}, error);
    if (!reader) return error;
    Hazards hazards(1000);
    Judge judge({}, hazards);
    hazards.take_names_from(judge.handles());
    Timeline timeline(judge, hazards);
    judge.add_observer(timeline);
    trace::Item item;
    while (reader->next(item) == trace::Step::Record) judge.consume(item);
    Symbolizer none({.enabled = false, .tool = {}});
    const RunView view = timeline.view({}, none);
    sound(view);
    complete(view);
    return out_.str().empty() ? "" : program_.str() + out_.str();
  }

  unsigned edges = 0, orders = 0;

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

  /// The call that was made last has its record there.
  void done(std::uint64_t position, bool in_stream, const std::string& text) {
    model_.returned(kThread, true);
    program_ << text << "\n";
    if (in_stream) operations_[position] = model_.last_operation();
    for (const auto& [at, op] : operations_)
      if (model_.is_known(op, kThread, true)) known_[position].insert(op);
  }

  void allocate(unsigned memory, unsigned stream) {
    const ordering::Range range{address_of(memory), address_of(memory) + kBytes};
    const MemoryKind kind = kKinds[memory];
    if (kind == MemoryKind::Pageable) return;
    const bool async = kind == MemoryKind::DeviceAsync;
    const std::uint64_t position = trace_.alloc(range.begin, kBytes, kind, async ? kStreams[stream] : 0);
    if (async) {
      model_.allocate_async(kCall, streams_[stream], range);
    } else {
      model_.allocate(kCall, range, kind, kContext);
    }
    done(position, async, "alloc " + std::to_string(memory) + " s" + std::to_string(stream));
  }

  void step() {
    const unsigned stream = below(5), event = below(kEvents), dst = below(kMemories), src = below(kMemories);
    const std::uint64_t handle = kStreams[stream];
    const ordering::StreamId id = streams_[stream];
    const Footprint to{address_of(dst), kBytes, kBytes, 1}, from{address_of(src), kBytes, kBytes, 1};
    const std::string on = " s" + std::to_string(stream), which = " e" + std::to_string(event);
    const std::string sides = " " + std::to_string(dst) + " " + std::to_string(src);
    std::uint64_t position = 0;
    switch (below(12)) {
      case 0:
      case 1:
        position = trace_.event_record(handle, 0xE0 + event);
        model_.record_event(kCall, id, events_[event]);
        recorded_.insert(event);
        return done(position, true, "record" + which + on);
      case 2:
      case 3:
        position = trace_.event_wait(handle, 0xE0 + event);
        model_.wait_event(kCall, id, events_[event]);
        return done(position, recorded_.contains(event), "wait" + on + which);  // R-EVT-04
      case 4:
        position = trace_.sync_stream(handle);
        model_.sync_stream(kCall, id);
        return done(position, false, "sync" + on);
      case 5:
        position = trace_.sync_event(0xE0 + event);
        model_.sync_event(kCall, events_[event]);
        return done(position, false, "syncevent" + which);
      case 6:
        if (below(3) != 0) return;
        position = trace_.sync_context();
        model_.sync_context(kCall, kContext);
        return done(position, false, "device");
      case 7:
        position = trace_.copy("cuMemcpy", handle, to.base, from.base, kBytes);
        model_.copy(kCall, id, to, from, Form::Synchronous);
        return done(position, true, "copy" + on + sides);
      case 8:
        position = trace_.copy_async("cuMemcpyAsync", handle, to.base, from.base, kBytes);
        model_.copy(kCall, id, to, from, Form::Asynchronous);
        return done(position, true, "copyasync" + on + sides);
      case 9:
        if (kKinds[dst] == MemoryKind::Pageable) return;
        if (kKinds[dst] == MemoryKind::DeviceAsync && below(2) == 0) {
          position = trace_.free_async(to.base, handle);
          model_.free_async(kCall, id, to.base);
          done(position, true, "freeasync " + std::to_string(dst) + on);
        } else {
          position =
              trace_.free(to.base, kKinds[dst] == MemoryKind::Pinned ? trace::FreeKind::Host : trace::FreeKind::Device);
          model_.free(kCall, kContext, to.base);
          done(position, false, "free " + std::to_string(dst));
        }
        return allocate(dst, stream);
      default:
        position = trace_.fill_async(handle, to.base, kBytes);
        model_.fill(kCall, id, to, Form::Asynchronous);
        return done(position, true, "fill" + on + " " + std::to_string(dst));
    }
  }

  /// kNoOp: it is of the host.
  [[nodiscard]] OpId operation(const RunView& view, std::uint32_t index) const {
    const report::ViewOp& op = view.ops[index];
    if (!view.lanes[op.lane].stream) return ordering::kNoOp;
    const auto found = operations_.find(op.position);
    return found == operations_.end() ? ordering::kNoOp : found->second;
  }

  void sound(const RunView& view) {
    for (const report::ViewEdge& edge : view.edges) {
      ++edges;
      const OpId from = operation(view, edge.from), to = operation(view, edge.to);
      const auto known = known_.find(view.ops[edge.to].position);
      const bool right = to == ordering::kNoOp     ? known != known_.end() && known->second.contains(from)
                         : from == ordering::kNoOp ? false
                                                   : model_.is_before(from, to, true);
      if (!right) out_ << "no such order: " << name(from) << " to " << name(to) << " at " << edge.to << "\n";
    }
  }

  void complete(const RunView& view) {
    const std::size_t count = view.ops.size();
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
    const auto join = [&](std::size_t to, std::size_t from) {
      before[to][from] = true;
      for (std::size_t i = 0; i < count; ++i)
        if (before[from][i]) before[to][i] = true;
    };
    std::map<std::uint32_t, std::size_t> last;  // of each lane
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto in_lane = last.find(view.ops[i].lane);
      if (in_lane != last.end()) join(i, in_lane->second);
      const auto host = last.find(view.ops[i].thread);
      if (host != last.end()) join(i, host->second);
      for (const report::ViewEdge& edge : view.edges)
        if (edge.to == i) join(i, edge.from);
      last[view.ops[i].lane] = i;
    }
    for (std::uint32_t later = 0; later < count; ++later) {
      for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
        const OpId from = operation(view, earlier), to = operation(view, later);
        if (from == ordering::kNoOp || to == ordering::kNoOp || !model_.is_before(from, to, false)) continue;
        ++orders;
        if (!before[later][earlier]) out_ << "not drawn: " << name(from) << " to " << name(to) << "\n";
      }
    }
  }

  static std::string name(OpId op) {
    return op == ordering::kNoOp ? "the host" : "operation " + std::to_string(static_cast<std::uint64_t>(op));
  }

  std::mt19937 random_;
  trace::TraceBuilder trace_;
  ReferenceModel model_{ordering::Options{}};
  std::vector<ordering::StreamId> streams_;
  std::vector<ordering::EventId> events_;
  std::set<unsigned> recorded_;
  std::map<std::uint64_t, OpId> operations_;       ///< by the position of the record
  std::map<std::uint64_t, std::set<OpId>> known_;  ///< to the host when the call had returned
  std::ostringstream program_, out_;
};

TEST(TimelineEdges, AreTheOrderOfTheReference) {
  const char* text = std::getenv("STREAMSAN_RANDOM_PROGRAMS");
  const unsigned programs = text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 1000;
  unsigned edges = 0, orders = 0;
  for (unsigned seed = 0; seed < programs; ++seed) {
    RandomRun run(seed);
    ASSERT_EQ(run.disagreement(), "") << "seed " << seed;
    edges += run.edges;
    orders += run.orders;
  }
  EXPECT_GT(edges, programs * 3);
  EXPECT_GT(orders, programs * 10);
}

}  // namespace
}  // namespace streamsan::judge

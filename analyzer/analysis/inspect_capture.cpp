// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that a capture does not allow, or that do not become part of its graph; and captures that end with work that
// nothing has joined.
//
// Code that is captured is mostly code that also runs without a capture: once before it, to warm up, and after it
// where graphs are switched off. What only the first run does stands behind a condition: `if (need > capacity_)
// grow();`, `if (!is_capturing(s)) cudaStreamSynchronize(s);`, `if (debug_) ...`. Whether such a condition can hold
// during a capture is known to the program's author alone. So a call is certain only if each way from the begin of the
// capture to its end comes by it. A loop is taken to run at least once, and a way that leaves the function before the
// end of the capture, as after an error, is none. If the end of the capture is not in sight, a call behind unknown code
// may lie outside the capture.
//
// What is refused is what the driver was seen to refuse (docs/gpu-suite.md, capture-modes); the documents name few
// calls.
//
// The legacy default stream is forbidden beside a blocking stream that is captured, in every mode (R-GRF-06). Beside a
// non-blocking one work in it is allowed, also a synchronous copy or fill, but runs at once and is missing in the graph
// (R-GRF-07): hardly what was meant, unless it fills memory that is allocated while the stream is captured. Who asks
// for that asked for a relaxed capture, as for weights that are uploaded once and read whenever the graph is launched.
//
// While a capture that is not relaxed is open, its thread may not wait for or query any stream or event, related to the
// capture or not. Neither may it allocate or free memory, except stream-ordered memory of the captured streams
// (R-GRF-09). A relaxed capture refuses only what concerns the captured streams (R-GRF-08): a wait for the legacy
// stream, beside a non-blocking one, is right there. The events of a relaxed capture, and frees of stream-ordered
// memory in other streams, are not looked at, so some errors are missed.
#include "analyzer/analysis/inspect_capture.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

using ir::OpKind;
using ordering::MemoryKind;
using ordering::StreamKind;

namespace {

using Blocks = std::vector<bool>;

/// The ways through a function from the begin of a capture to its ends, by block.
class Ways {
 public:
  Ways(const ir::Function& function, std::size_t begin, std::size_t position) : function_(function), begin_(begin) {
    ends_.resize(function.blocks.size());
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const std::vector<ir::Op>& ops = function.blocks[i].ops;
      const auto from = ops.begin() + static_cast<std::ptrdiff_t>(i == begin ? position : 0);
      ends_[i] = std::any_of(from, ops.end(), [](const ir::Op& op) { return op.kind == OpKind::CaptureEnd; });
    }
  }

  /// What can be reached from the begin, `holds` not passed. From the head of a loop around `holds` there is no way out
  /// before the first round.
  [[nodiscard]] Blocks around(const Blocks& holds) const {
    const auto inside = [this](std::size_t from, std::size_t) { return !ends_[from]; };
    const Blocks before = ir::leading_to(function_, holds, inside), behind = reached(holds);
    const auto next = [&](std::size_t from, std::size_t to) {
      const bool in_loop = function_.blocks[from].loop_head && behind[from] && before[from];
      return !ends_[from] && !holds[to] && (!in_loop || before[to]);
    };
    std::vector<std::size_t> work;
    go_on(begin_, work);
    std::erase_if(work, [&](std::size_t to) { return holds[to]; });
    return ir::reached(function_, std::move(work), next);
  }

  /// What can be reached from the ends of these blocks.
  [[nodiscard]] Blocks reached(const Blocks& starts) const {
    std::vector<std::size_t> work;
    for (std::size_t i = 0; i < starts.size(); ++i)
      if (starts[i]) go_on(i, work);
    return ir::reached(function_, std::move(work), [this](std::size_t from, std::size_t) { return !ends_[from]; });
  }

  [[nodiscard]] bool ends(std::size_t block) const { return ends_[block]; }

 private:
  void go_on(std::size_t block, std::vector<std::size_t>& to) const {
    if (ends_[block]) return;
    for (const ir::BlockId successor : function_.blocks[block].successors) to.push_back(ir::at(successor));
  }

  const ir::Function& function_;
  std::size_t begin_;
  Blocks ends_;
};

bool may_end_captures(const ir::Op& op) { return op.kind == OpKind::Call || op.kind == OpKind::MaySync; }

}  // namespace

bool CaptureQuestions::always_inside(OpIndex begin) const {
  const std::vector<ir::Block>& blocks = values_.function().blocks;
  std::size_t first = 0;
  while (first + 1 < blocks.size() && values_.first_op(static_cast<std::uint32_t>(first + 1)) <= begin) ++first;
  const std::size_t start = begin - values_.first_op(static_cast<std::uint32_t>(first));
  const Ways ways(values_.function(), first, start);

  Blocks holds(blocks.size());
  const std::uint32_t origin = look_.op->origin;
  for (std::size_t i = 0; i < blocks.size() && origin != ir::Op::kNoOrigin; ++i)
    holds[i] = std::ranges::any_of(blocks[i].ops, [&](const ir::Op& op) { return op.origin == origin; });
  holds[look_.block] = true;

  const auto an_end = [&](const Blocks& of) {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (of[i] && ways.ends(i)) return true;
    return false;
  };
  Blocks from_here(blocks.size());
  from_here[look_.block] = true;
  const std::vector<ir::Op>& here = blocks[look_.block].ops;
  const bool ends_here = std::any_of(here.begin() + look_.position, here.end(),
                                     [](const ir::Op& op) { return op.kind == OpKind::CaptureEnd; });
  if (!ends_here && !an_end(ways.reached(from_here))) {
    Blocks run(blocks.size());
    run[first] = true;
    run = ways.reached(run);
    run[first] = true;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (run[i] && std::ranges::any_of(blocks[i].ops, may_end_captures)) return false;
  }
  if (first == look_.block && begin < look_.index) return true;
  const Blocks around = ways.around(holds);
  if (an_end(around) || ways.ends(first)) return false;
  // A round of a loop that comes by without it.
  const Blocks behind = ways.reached(holds);
  for (std::size_t head = 0; head < blocks.size(); ++head) {
    if (!blocks[head].loop_head || !around[head] || !behind[head]) continue;
    const Ways from_head(values_.function(), head, 0);
    if (from_head.around(holds)[head]) return false;
  }
  return true;
}

bool CaptureQuestions::is_captured(ValueId stream) const {
  return std::ranges::any_of(look_.order->captured(),
                             [&](const auto& known) { return values_.must_equal(known.first, stream); });
}

bool CaptureQuestions::certainly_not_captured(ValueId stream) const {
  if (values_.is_legacy(stream)) return true;
  return !look_.order->perhaps_forked() && std::ranges::all_of(look_.order->captured(), [&](const auto& known) {
    return values_.certainly_different(known.first, stream);
  });
}

std::optional<bool> CaptureQuestions::any_blocking() const {
  bool known = true;
  for (const auto& [stream, op] : look_.order->captured()) {
    const auto kind = values_.stream_kind(stream);
    if (kind == StreamKind::Blocking) return true;
    known = known && kind == StreamKind::NonBlocking;
  }
  return known ? std::optional(false) : std::nullopt;
}

void CaptureQuestions::refuse(const std::string& why, Level most, CheckCase which) {
  const auto& [stream, begin] = *look_.order->captured().begin();
  const bool certain = look_.order->capturing() == Tri::All && always_inside(begin);
  Hazard hazard = look_.start(Check::CaptureUnsafeCall, certain ? most : Level::Maybe);
  hazard.later = witness_.action(look_.index, kUnknown);
  hazard.detail = why;
  hazard.which = which;
  hazard.earlier = witness_.action(begin, stream);
  look_.raise({.hazard = std::move(hazard), .later = look_.index, .earlier = begin});
}

void CaptureQuestions::refuse_legacy(const std::string& why) {
  if (any_blocking() == true) return refuse(why);
  refuse(why, Level::Likely, CheckCase::NotInGraph);
}

void CaptureQuestions::wait_or_ask(ValueId stream, bool relaxed) {
  const bool waits = look_.op->kind == OpKind::SyncStream;
  // A library that waits for its results outside of a capture may well not do so inside.
  if (waits && look_.op->work == ir::Work::Library) return;
  const std::string does = waits ? "it synchronises " : "it asks about ";
  if (is_captured(stream)) return refuse(does + "a stream whose work is not running");
  const std::optional<bool> blocking = any_blocking();
  if (values_.is_legacy(stream) && blocking != false)
    return refuse(does + "the default stream", blocking == true || !relaxed ? Level::Definite : Level::Likely);
  if (!relaxed) refuse(does + "a stream, which only a relaxed capture allows");
}

void CaptureQuestions::memory(ValueId stream, bool relaxed) {
  const ir::Op& op = *look_.op;
  // Memory of an allocator that is not known, as of a container with one of its own, may be the host's.
  if (relaxed || op.tensor || op.pooled || !op.memory || op.memory == MemoryKind::Pageable) return;
  if (op.memory != MemoryKind::DeviceAsync) return refuse("it may synchronise the device");
  if (op.kind == OpKind::Allocate && certainly_not_captured(stream))
    refuse("it allocates in a stream that is not captured");
}

bool CaptureQuestions::fills_new_memory() const {
  const auto written = [](const ir::Access& access) { return writes(access.mode); };
  const auto is_new = [this](const ir::Access& access) {
    return look_.order->made_inside().contains(span_of(values_, look_.store->evaluate(values_, access.memory)).memory);
  };
  const auto& accesses = look_.op->accesses;
  return std::ranges::any_of(accesses, written) &&
         std::ranges::all_of(accesses, [&](const ir::Access& access) { return !written(access) || is_new(access); });
}

void CaptureQuestions::synchronous(ValueId stream, bool relaxed) {
  const std::string why = "it is synchronous";
  if (is_captured(stream)) return refuse(why);
  if (relaxed && any_blocking() != true && fills_new_memory()) return;
  if (values_.is_legacy(stream)) return refuse_legacy(why);
  if (values_.is_default_stream(stream)) return refuse(why, Level::Likely, CheckCase::NotInGraph);
  if (!relaxed) refuse(why);
}

void CaptureQuestions::not_joined() {
  const auto& all = look_.order->captured();
  if (look_.order->capturing() != Tri::All || all.size() < 2) return;
  const auto begin = std::ranges::find_if(
      all, [this](const auto& known) { return values_.op(known.second).kind == OpKind::CaptureBegin; });
  if (begin == all.end() || look_.order->unjoined().empty()) return;
  const auto& [fork, work] = *look_.order->unjoined().begin();
  Hazard hazard = look_.start(Check::CaptureUnsafeCall,
                              values_.certainly_different(fork, begin->first) ? Level::Definite : Level::Likely);
  hazard.later = witness_.action(look_.index, fork);
  hazard.later.stream = witness_.stream(fork, values_.op(work).stream, work);
  hazard.which = CheckCase::NotJoined;
  hazard.earlier = witness_.action(begin->second, begin->first);
  hazard.edge = witness_.where(work);
  look_.raise({.hazard = std::move(hazard), .later = look_.index, .earlier = begin->second});
}

void CaptureQuestions::ask() {
  if (look_.order->captured().empty()) return;
  const ir::Op& op = *look_.op;
  const ValueId stream = look_.order->stream_of(values_, *look_.store, look_.index);
  // R-GRF-09: a relaxed capture, or one whose mode is not known, refuses only what concerns the captured streams. So
  // does a thread that has exchanged its mode.
  const bool relaxed = !look_.order->own_capture_mode() ||
                       std::ranges::any_of(look_.order->captured(),
                                           [this](const auto& known) { return values_.op(known.second).relaxed; });
  switch (op.kind) {
    case OpKind::CaptureEnd:
      return not_joined();
    case OpKind::SyncDevice:
      return refuse("it synchronises the device");
    case OpKind::SyncStream:
    case OpKind::QueryStream:
      return wait_or_ask(stream, relaxed);
    case OpKind::SyncEvent:
      if (!relaxed) refuse("it waits for an event");
      return;
    case OpKind::QueryEvent:
      if (!relaxed) refuse("it asks about an event");
      return;
    case OpKind::Allocate:
    case OpKind::Free:
      return memory(stream, relaxed);
    case OpKind::Enqueue:
      if (op.form == ir::Form::Synchronous && copies_or_fills(op)) return synchronous(stream, relaxed);
      [[fallthrough]];
    case OpKind::Record:
      if (values_.is_legacy(stream)) refuse_legacy("it goes to the default stream, which is not captured");
      return;
    default:
      return;
  }
}

}  // namespace streamsan::analyzer

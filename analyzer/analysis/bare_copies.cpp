// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omitted-stream, its other half: cudaMemset or cudaMemcpy in a function that has a stream to work on.
//
// These calls have no stream argument and go to the default stream. They are thought to be synchronous, so programs
// have them between the work of a stream. But a fill, and a copy from device to device, return before they are done
// (R-CPY-50, R-CPY-04); and no such call waits for earlier work of a non-blocking stream (R-STR-12). So all of them
// race with work in front of them on the parameter's stream, and fills and such copies also with work behind them, if
// both use the same memory. The function breaks the same promise to its callers as one that launches without a stream.
//
// A copy to a variable of the device (cudaMemcpyToSymbol) in front of the work races as well: the next call of the
// function writes that variable again while the work of this call may still read it.
//
// If there is no parameter, a stream that the function got elsewhere (given_stream.h) counts for work behind a fill or
// a copy from device to device. It does not count for work in front of them: with a blocking stream such code is right,
// and the author probably knows whether the stream is blocking if it is not a caller's.
//
// Silent: if the host, an event or unknown code may order the two in between; if the parameter is no evidence
// (given_stream.h); for copies between host and device in front of the work: these return when the host's side is done,
// and a missing argument is not enough evidence that the device's side is late.
#include "analyzer/analysis/bare_copies.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/analysis/given_stream.h"
#include "analyzer/ir/hidden.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Op;
using ir::OpKind;

class Bare {
 public:
  Bare(const ir::Function& function, const ir::Program& program) : function_(function), program_(program) {}

  std::vector<Hazard> find() {
    if (orders_default_stream(function_)) return {};
    for (const ir::Block& block : function_.blocks) {
      given_ = stream_parameter(function_, block);
      for (const Op& op : block.ops) {
        if (!is_bare(op)) continue;
        const Op* other = returns_early(op) ? behind(block, op) : nullptr;
        if (other == nullptr && writes_variable(op)) {
          other = behind(block, op);
          if (other != nullptr && !may_go_on(*other)) other = nullptr;
        }
        if (other == nullptr && given_ != ir::kNoPlace) other = in_front(block, op);
        if (other != nullptr) raise(op, *other);
      }
    }
    return std::move(hazards_);
  }

 private:
  [[nodiscard]] bool is_bare(const Op& op) const {
    return op.kind == OpKind::Enqueue && op.form == ir::Form::Synchronous && !op.implicit_stream && !op.tensor &&
           (op.work == ir::Work::Fill || op.work == ir::Work::Copy) && is_default(op.stream) &&
           op.site != ir::kNoSite && function_[op.site].api != ir::Api::None;
  }

  /// Both sides of the copy are on the device.
  static bool returns_early(const Op& op) {
    return std::ranges::all_of(op.accesses, [&](const ir::Access& access) {
      return op.work == ir::Work::Fill ? !access.on_host.value_or(false) : !access.on_host.value_or(true);
    });
  }

  /// The target is a variable of the device, which the next call writes again.
  [[nodiscard]] bool writes_variable(const Op& op) const {
    return std::ranges::any_of(op.accesses, [&](const ir::Access& access) {
      if (access.mode != ir::Mode::Write || access.memory.place == ir::kNoPlace || access.on_host.value_or(false))
        return false;
      const ir::PlaceId root = ir::root(function_, access.memory.place).place;
      return root != ir::kNoPlace && function_[root].kind == ir::Place::Kind::Global &&
             access.memory.kind == ir::Operand::Kind::Address;
    });
  }

  [[nodiscard]] bool meets(const Op& op, const Op& other) const {
    if (other.kind == OpKind::Call) return passes_on(op, other);
    return other.kind == OpKind::Enqueue && other.stream.kind == ir::Operand::Kind::Value && works_on(other.stream) &&
           share_memory(function_, op, other);
  }

  /// The parameter; without one, a stream that the function got elsewhere.
  [[nodiscard]] bool works_on(const ir::Operand& stream) const {
    if (given_ != ir::kNoPlace) return stream.place == given_;
    if (function_[stream.place].name == ir::name(ir::Hidden::CurrentStream) && !trades_tensors(function_)) return false;
    return is_at_hand(function_, program_, stream.place);
  }

  /// A helper in sight gets the parameter, and the memory that `op` writes, and works on that stream.
  [[nodiscard]] bool passes_on(const Op& op, const Op& call) const {
    if (given_ == ir::kNoPlace || !enqueues_on_parameter(program_, call.callee)) return false;
    const auto given = [&](auto&& is) { return std::ranges::any_of(call.arguments, is); };
    if (!given([&](const ir::Operand& argument) { return argument.place == given_; })) return false;
    return std::ranges::any_of(op.accesses, [&](const ir::Access& access) {
      if (access.mode != ir::Mode::Write || access.memory.kind != ir::Operand::Kind::Value) return false;
      return given([&](const ir::Operand& argument) {
        return argument.kind == ir::Operand::Kind::Value && argument.place != ir::kNoPlace &&
               source(function_, argument.place) == source(function_, access.memory.place);
      });
    });
  }

  /// The other op may order `op` and work of the stream, or make the host wait for either.
  [[nodiscard]] bool may_order(const Op& op, int depth = 0) const {
    switch (op.kind) {
      case OpKind::SyncStream:
      case OpKind::SyncEvent:
      case OpKind::SyncDevice:
      case OpKind::QueryStream:
      case OpKind::QueryEvent:
      case OpKind::MaySync:
      case OpKind::Wait:
      case OpKind::Free:
        return true;
      case OpKind::Enqueue:
        return op.form == ir::Form::Synchronous && !returns_early(op);
      case OpKind::Call:
        return may_wait(op.callee, depth + 1);
      default:
        return false;
    }
  }

  [[nodiscard]] bool may_wait(const std::string& callee, int depth) const {
    constexpr int kDeepest = 3;
    const auto found = program_.functions.find(callee);
    if (found == program_.functions.end() || depth > kDeepest || !found->second.incomplete.empty()) return true;
    return std::ranges::any_of(found->second.blocks, [&](const ir::Block& block) {
      return std::ranges::any_of(block.ops, [&](const Op& op) { return may_order(op, depth); });
    });
  }

  /// The first of `ops` that conflicts with `op`, unless an op before it may order the two.
  template <class Ops>
  [[nodiscard]] const Op* first(const Op& op, const Ops& ops, bool& ordered) const {
    for (const Op& other : ops) {
      if (meets(op, other)) return &other;
      if (may_order(other)) {
        ordered = true;
        return nullptr;
      }
    }
    return nullptr;
  }

  /// Searches all paths from `block` on, or back from it.
  template <class Walk>
  [[nodiscard]] const Op* on_some_way(std::vector<ir::BlockId> ways, const Walk& walk,
                                      const std::vector<std::vector<ir::BlockId>>& next) const {
    std::vector<bool> seen(function_.blocks.size());
    while (!ways.empty()) {
      const auto at = static_cast<std::size_t>(ways.back());
      ways.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      bool ordered = false;
      if (const Op* found = walk(function_.blocks[at], ordered)) return found;
      if (!ordered) ways.insert(ways.end(), next[at].begin(), next[at].end());
    }
    return nullptr;
  }

  [[nodiscard]] const Op* behind(const ir::Block& block, const Op& op) const {
    bool ordered = false;
    const auto after = std::span(block.ops).subspan(static_cast<std::size_t>(&op - block.ops.data()) + 1);
    if (const Op* found = first(op, after, ordered); found != nullptr || ordered) return found;
    std::vector<std::vector<ir::BlockId>> next(function_.blocks.size());
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = function_.blocks[i].successors;
    return on_some_way(
        block.successors, [&](const ir::Block& on, bool& stop) { return first(op, std::span(on.ops), stop); }, next);
  }

  [[nodiscard]] const Op* in_front(const ir::Block& block, const Op& op) const {
    bool ordered = false;
    const auto before = std::span(block.ops).first(static_cast<std::size_t>(&op - block.ops.data()));
    if (const Op* found = first(op, std::views::reverse(before), ordered); found != nullptr || ordered) return found;
    std::vector<std::vector<ir::BlockId>> next(function_.blocks.size());
    for (std::size_t i = 0; i < next.size(); ++i)
      for (const ir::BlockId to : function_.blocks[i].successors)
        next[static_cast<std::size_t>(to)].push_back(static_cast<ir::BlockId>(i));
    return on_some_way(
        next[static_cast<std::size_t>(&block - function_.blocks.data())],
        [&](const ir::Block& on, bool& stop) { return first(op, std::views::reverse(std::span(on.ops)), stop); }, next);
  }

  /// On some path the function ends before anything has waited for `op`.
  [[nodiscard]] bool may_go_on(const Op& work) const {
    std::vector<bool> seen(function_.blocks.size());
    std::vector<std::pair<std::size_t, std::size_t>> ways;  // block, op
    for (std::size_t i = 0; i < function_.blocks.size(); ++i) {
      const std::vector<Op>& ops = function_.blocks[i].ops;
      if (!ops.empty() && &work >= &ops.front() && &work <= &ops.back())
        ways.emplace_back(i, static_cast<std::size_t>(&work - ops.data()) + 1);
    }
    while (!ways.empty()) {
      const auto [at, from] = ways.back();
      ways.pop_back();
      const ir::Block& block = function_.blocks[at];
      if (std::any_of(block.ops.begin() + static_cast<std::ptrdiff_t>(from), block.ops.end(),
                      [&](const Op& op) { return may_order(op); }))
        continue;
      if (block.successors.empty()) return true;
      for (const ir::BlockId next : block.successors) {
        if (seen[static_cast<std::size_t>(next)]) continue;
        seen[static_cast<std::size_t>(next)] = true;
        ways.emplace_back(static_cast<std::size_t>(next), 0);
      }
    }
    return false;
  }

  void raise(const Op& op, const Op& other) {
    Hazard& hazard = hazards_.emplace_back();
    hazard.check = Check::OmittedStream;
    hazard.level = Level::Likely;
    hazard.function = function_.name;
    hazard.usr = function_.usr;
    hazard.later = action(op);
    hazard.later.stream = unnamed(UnnamedStream::Default);
    hazard.earlier = action(other);
    hazard.detail = function_.spell(given_ != ir::kNoPlace ? given_ : other.stream.place);
    if (given_ != ir::kNoPlace && function_.site != ir::kNoSite)
      hazard.evidence.push_back({"stream '" + hazard.detail + "' is what '" + function_.name + "' is given to work on",
                                 Where{function_[function_.site], {}}});
  }

  [[nodiscard]] Action action(const Op& op) const {
    Action result;
    result.work = op.work;
    if (op.site != ir::kNoSite) result.where.site = function_[op.site];
    result.what = name_of(function_, op);
    return result;
  }

  const ir::Function& function_;
  const ir::Program& program_;
  ir::PlaceId given_ = ir::kNoPlace;
  std::vector<Hazard> hazards_;
};

}  // namespace

std::vector<Hazard> bare_copies(const ir::Function& function, const ir::Program& program) {
  return function.incomplete.empty() ? Bare(function, program).find() : std::vector<Hazard>();
}

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host against work in flight: its reads and writes, and the ends of memory.
//
// A host access needs the host's token, whatever the streams are. What a copy does today without promise (ordering/
// copies.h) makes the hazard Latent, and so does the waiting of cudaFree and cudaFreeHost. Stream-ordered memory has no
// such excuse: cudaFree of it waits for nothing (R-ALC-03), and cudaFreeAsync only for its own stream.
//
// A tensor returns to its allocator at the end of its last owner and is given out again in the order of the stream it
// was allocated on. What other streams do to it must be known to the allocator (record_stream) or be over.
#include "analyzer/analysis/inspect_host.h"

#include <utility>
#include <vector>

#include "analyzer/analysis/cause.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

using ordering::MemoryKind;
using ordering::Rule;

void HostQuestions::host_access() {
  for (std::uint16_t i = 0; i < look_.op->accesses.size(); ++i) {
    const ir::Access& access = look_.op->accesses[i];
    const std::optional<Pending> mine = touch(values_, *look_.store, look_.index, i);
    if (!mine || access.mode == ir::Mode::Unknown) continue;
    const auto kind = look_.order->kind(values_, access, mine->memory);
    // Plain code and the standard library cannot access device memory, though it may look so. Other calls can
    // (GPU-aware MPI).
    const bool is_plain = look_.op->name.empty() || look_.op->host_only;
    if (is_plain && (kind == MemoryKind::Device || kind == MemoryKind::DeviceAsync)) continue;
    if (access.mode != ir::Mode::Read) write_captured(mine->memory, access);
    for (const Pending& earlier : look_.order->pending()) {
      if (earlier.access >= kEventRecord || is_message(values_, earlier)) continue;
      if (!related(values_, earlier.memory, mine->memory)) continue;
      // For the same reason the tensor is in host memory, and the earlier operator has worked on it at once.
      const ir::Op& work = values_.op(earlier.op);
      if (is_plain && work.of_tensors) continue;
      if (sets_.has(earlier.must, kHost)) {
        look_.note_ordered(earlier);
        continue;
      }
      Sure meet = host_overlap(values_, earlier, *mine);
      // A user that a pool gives a block to uses it from its start.
      if (meet == Sure::Maybe && earlier.given_back != kNoOp) meet = Sure::Yes;
      const Sure fight = conflict(earlier.mode, access.mode);
      if (meet == Sure::No || fight == Sure::No) continue;
      if (meet == Sure::Maybe && look_.first_rounds.meet(earlier, *mine)) meet = Sure::Yes;
      // R-CPY-13: out of pageable memory a copy may be staged before the call returns.
      std::optional<Rule> leans = earlier.leans;
      const bool pinned = kind == MemoryKind::Pinned || kind == MemoryKind::Registered;
      if (values_.op(earlier.op).tensor && access.mode != ir::Mode::Read && !pinned && !leans) leans = Rule::CPY_13;
      const bool presumed =
          fight == Sure::Maybe && presumed_conflict(*look_.op, access.mode, values_.op(earlier.op), earlier.mode);
      const bool definite = meet == Sure::Yes && (fight == Sure::Yes || presumed) && !sets_.has(earlier.may, kHost);
      Hazard hazard =
          look_.start(access.mode == ir::Mode::Read ? Check::HostReadBeforeDone : Check::HostWriteBeforeDone,
                      !definite  ? Level::Maybe
                      : leans    ? Level::Latent
                      : presumed ? Level::Likely
                                 : Level::Definite);
      if (hazard.level == Level::Latent) hazard.rule = ordering::rule_id(*leans);
      hazard.later = witness_.host(look_.index, access.mode);
      hazard.earlier = witness_.action(earlier);
      hazard.buffer = witness_.memory(mine->memory, access.memory, look_.index);
      hazard.buffer.memory_kind = kind;
      if (hazard.level == Level::Likely) look_.note_presumption(hazard, earlier.op);
      look_.note_pool(hazard, earlier);
      explain(look_, hazard, earlier, kUnknown);
      look_.undecided = look_.undecided || hazard.level == Level::Maybe;
      if (hazard.level == Level::Maybe && !sets_.has(earlier.may, kHost))
        hazard.condition = "both use the same part of '" + hazard.buffer.name + "'";
      look_.raise(std::move(hazard), earlier, mine->memory);
    }
  }
}

void HostQuestions::end_of_memory() {
  const ValueId memory = span_of(values_, look_.store->evaluate(values_, look_.op->source)).memory;
  if (memory == kUnknown || memory == kNull) return;
  if (const auto captured = look_.order->captured_memory().find(memory);
      captured != look_.order->captured_memory().end() && graph_survives())
    release_captured(memory, captured->second.op);
  if (look_.op->tensor) return release_tensor(memory);
  std::optional<MemoryKind> kind = look_.op->memory;
  const auto made_as = values_.memory_kind(memory);
  if (!kind) kind = made_as;
  const bool has_stream = look_.op->stream.kind != ir::Operand::Kind::None;
  if (kind == MemoryKind::DeviceAsync && has_stream) return release_in_order(memory);
  if (made_as == MemoryKind::DeviceAsync) kind = made_as;
  release_by_host(memory, kind);
}

void HostQuestions::write_captured(ValueId memory, const ir::Access& access) {
  const auto captured = look_.order->captured_memory().find(memory);
  if (captured == look_.order->captured_memory().end() || captured->second.given_back == kNoOp) return;
  if (look_.order->capturing() != Tri::No || !launches_from_here()) return;
  Hazard hazard = look_.start(Check::PrematureFree, Level::Likely);
  hazard.which = CheckCase::Captured;
  hazard.later = witness_.host(look_.index, access.mode);
  hazard.earlier = witness_.action(captured->second.op, kUnknown);
  hazard.buffer = witness_.memory(memory, access.memory, look_.index);
  hazard.evidence.push_back(
      {"the block goes back to its pool here, which hands it out again", witness_.where(captured->second.given_back)});
  look_.raise({.hazard = std::move(hazard), .later = look_.index, .earlier = captured->second.op, .memory = memory});
}

/// Some path from here leads to the launch of a graph that was made before.
bool HostQuestions::launches_from_here() const {
  const ir::Function& function = values_.function();
  const auto first_of = [&](std::size_t block, std::size_t position) {
    for (; position < function.blocks[block].ops.size(); ++position) {
      const ir::Op& op = function.blocks[block].ops[position];
      const bool makes = op.kind == ir::OpKind::CaptureBegin ||
                         (op.kind == ir::OpKind::Fresh && function[op.target].type == ir::TypeKind::Graph);
      if (makes || (op.kind == ir::OpKind::Enqueue && op.work == ir::Work::GraphLaunch)) return &op;
    }
    return static_cast<const ir::Op*>(nullptr);
  };
  if (const ir::Op* here = first_of(look_.block, look_.position + 1)) return here->kind == ir::OpKind::Enqueue;
  std::vector<std::size_t> from;
  for (const ir::BlockId next : function.blocks[look_.block].successors) from.push_back(ir::at(next));
  const std::vector<bool> behind = ir::reached(
      function, std::move(from), [&](std::size_t block, std::size_t) { return first_of(block, 0) == nullptr; });
  for (std::size_t block = 0; block < behind.size(); ++block) {
    const ir::Op* stop = behind[block] ? first_of(block, 0) : nullptr;
    if (stop != nullptr && stop->kind == ir::OpKind::Enqueue) return true;
  }
  return false;
}

bool HostQuestions::graph_survives() const {
  const ir::Function& function = values_.function();
  for (const ir::Block& block : function.blocks)
    for (const ir::Op& op : block.ops) {
      if (op.kind != ir::OpKind::Fresh || op.target == ir::kNoPlace) continue;
      if (function[op.target].type != ir::TypeKind::Graph) continue;
      // A local pointer mostly leads to a local graph, of the function that this one is inlined into.
      const ir::Place::Kind root = function[ir::root(function, op.target).place].kind;
      if (root == ir::Place::Kind::This || root == ir::Place::Kind::Global || root == ir::Place::Kind::Parameter)
        return true;
    }
  return false;
}

void HostQuestions::release_captured(ValueId memory, OpIndex use) {
  // Whether the graph is launched again after this is not followed.
  Hazard hazard = look_.start(Check::PrematureFree, Level::Maybe);
  hazard.which = CheckCase::Captured;
  hazard.later = witness_.action(look_.index, kUnknown);
  hazard.earlier = witness_.action(use, kUnknown);
  hazard.buffer = witness_.memory(memory, look_.op->source, look_.index);
  look_.raise({.hazard = std::move(hazard), .later = look_.index, .earlier = use, .memory = memory});
}

void HostQuestions::release_tensor(ValueId memory) {
  const ValueId home = look_.order->stream_of(values_, *look_.store, look_.index);
  if (home == kUnknown) return;
  const SetId kept = look_.order->kept(sets_, memory);
  for (const Pending& earlier : look_.order->pending()) {
    if (earlier.access >= kReturned || is_message(values_, earlier)) continue;
    if (!related(values_, earlier.memory, memory)) continue;
    if (Order::is_waited_for_by_allocator(values_, earlier, memory)) continue;
    if (surely_over(earlier, home)) continue;
    const auto keeps = [&](std::uint32_t stream) { return values_.may_equal(ValueId{stream}, earlier.stream); };
    if (std::any_of(sets_[kept].begin(), sets_[kept].end(), keeps)) continue;
    release_in_stream(Check::MissingRecordStream, earlier, memory, home);
  }
}

void HostQuestions::release_in_order(ValueId memory) {
  const ValueId stream = look_.order->stream_of(values_, *look_.store, look_.index);
  if (stream == kUnknown) return;
  for (const Pending& earlier : look_.order->pending()) {
    if (earlier.access == kEventRecord || is_message(values_, earlier)) continue;
    if (!related(values_, earlier.memory, memory)) continue;
    if (!surely_over(earlier, stream)) release_in_stream(Check::PrematureFree, earlier, memory, stream);
  }
}

bool HostQuestions::surely_over(const Pending& earlier, ValueId stream) {
  const bool over = Order::one_stream(values_, earlier.stream, stream) ||
                    look_.order->surely_before(values_, sets_, earlier.must, stream);
  if (over) look_.note_ordered(earlier);
  return over;
}

void HostQuestions::release_in_stream(Check check, const Pending& earlier, ValueId memory, ValueId stream) {
  const bool definite = values_.certainly_different(earlier.stream, stream) &&
                        !look_.order->perhaps_before(values_, sets_, earlier.may, stream);
  Hazard hazard = look_.start(check, !definite ? Level::Maybe : earlier.leans ? Level::Latent : Level::Definite);
  if (hazard.level == Level::Latent) hazard.rule = ordering::rule_id(*earlier.leans);
  hazard.later = witness_.action(look_.index, stream);
  hazard.earlier = witness_.action(earlier);
  hazard.buffer = witness_.memory(memory, look_.op->source, look_.index);
  explain(look_, hazard, earlier, stream);
  look_.note_belief(hazard, earlier.stream, stream);
  look_.undecided = look_.undecided || !definite;
  Raised raised = look_.raised(std::move(hazard), earlier, memory, stream);
  // The block may be used again, but is it?
  if (check == Check::MissingRecordStream) return releases_.hold(earlier, std::move(raised));
  look_.raise(std::move(raised));
}

void HostQuestions::release_by_host(ValueId memory, std::optional<MemoryKind> kind) {
  std::optional<Rule> leans;
  bool ends_quietly = false;  // free(), delete, a scope: nothing in it could wait
  if (kind == MemoryKind::Device || kind == MemoryKind::Managed) {
    leans = Rule::ALC_02;
  } else if (kind == MemoryKind::Pinned || kind == MemoryKind::Registered) {
    if (look_.op->kind == ir::OpKind::Free) leans = Rule::ALC_05;
    ends_quietly = look_.op->kind == ir::OpKind::EndOfLife;
  } else {
    ends_quietly = kind != MemoryKind::DeviceAsync;
  }
  // Absent: the whole block ends, and not a range of it.
  const std::optional<Pending> range =
      look_.op->accesses.empty() ? std::nullopt : touch(values_, *look_.store, look_.index, 0);
  for (const Pending& earlier : look_.order->pending()) {
    if (earlier.access >= kRelease || earlier.access == kEventRecord || earlier.access == kAllocation) continue;
    if (is_message(values_, earlier)) continue;
    if (!related(values_, earlier.memory, memory)) continue;
    const Sure meet = range ? overlap(values_, earlier, *range) : Sure::Yes;
    if (meet == Sure::No) continue;
    if (sets_.has(earlier.must, kHost)) {
      look_.note_ordered(earlier);
      continue;
    }
    const std::optional<Rule> rule = leans ? leans : earlier.leans;
    Hazard hazard = look_.start(ends_quietly ? Check::AsyncCopyLifetime : Check::PrematureFree,
                                meet == Sure::Maybe || sets_.has(earlier.may, kHost) ? Level::Maybe
                                : rule                                               ? Level::Latent
                                                                                     : Level::Definite);
    if (hazard.level == Level::Latent) hazard.rule = ordering::rule_id(*rule);
    hazard.later = witness_.action(look_.index, kUnknown);
    hazard.earlier = witness_.action(earlier);
    hazard.buffer = witness_.memory(memory, look_.op->source, look_.index);
    if (ends_quietly) {
      hazard.detail = look_.op->kind == ir::OpKind::Free && look_.op->detail.empty() && !look_.op->name.empty()
                          ? "is freed by " + look_.op->name
                          : look_.op->detail;
      const bool temporary = look_.op->source.place != ir::kNoPlace &&
                             values_.function()[look_.op->source.place].kind == ir::Place::Kind::Temporary;
      if (temporary) hazard.buffer.name.clear();
    }
    explain(look_, hazard, earlier, kUnknown);
    look_.undecided = look_.undecided || hazard.level == Level::Maybe;
    look_.raise(std::move(hazard), earlier, memory);
  }
}

void HostQuestions::ask() {
  switch (look_.op->kind) {
    case ir::OpKind::HostAccess:
      return host_access();
    case ir::OpKind::Free:
    case ir::OpKind::EndOfLife:
      return end_of_memory();
    default:
      return;
  }
}

}  // namespace streamsan::analyzer

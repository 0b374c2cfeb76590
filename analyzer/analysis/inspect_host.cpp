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
#include "analyzer/analysis/inspector.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

using ordering::MemoryKind;
using ordering::Rule;

void Inspector::host_access() {
  for (std::uint16_t i = 0; i < op_->accesses.size(); ++i) {
    const ir::Access& access = op_->accesses[i];
    const std::optional<Pending> mine = touch(values_, *store_, index_, i);
    if (!mine || access.mode == ir::Mode::Unknown) continue;
    const auto kind = order_->kind(values_, access, mine->memory);
    // Plain code cannot touch device memory: it only seems to. A call with a name can (MPI, GPU-aware).
    if (op_->name.empty() && (kind == MemoryKind::Device || kind == MemoryKind::DeviceAsync)) continue;
    for (const Pending& earlier : order_->pending()) {
      if (earlier.access >= kEventRecord || !related(values_, earlier.memory, mine->memory)) continue;
      if (sets_.has(earlier.must, kHost)) {
        note_calm(earlier);
        continue;
      }
      const Sure meet = host_overlap(values_, earlier, *mine);
      const Sure fight = conflict(earlier.mode, access.mode);
      if (meet == Sure::No || fight == Sure::No) continue;
      const bool definite = meet == Sure::Yes && fight == Sure::Yes && !sets_.has(earlier.may, kHost);
      Hazard hazard = start(access.mode == ir::Mode::Read ? Check::HostReadBeforeDone : Check::HostWriteBeforeDone,
                            !definite       ? Level::Maybe
                            : earlier.leans ? Level::Latent
                                            : Level::Definite);
      if (hazard.level == Level::Latent) hazard.rule = ordering::rule_id(*earlier.leans);
      hazard.later = witness_.host(index_, access.mode);
      hazard.earlier = witness_.deed(earlier);
      hazard.buffer = witness_.memory(mine->memory, access.memory, index_);
      hazard.buffer.memory_kind = kind;
      explain(hazard, earlier, kUnknown);
      undecided_ = undecided_ || hazard.level == Level::Maybe;
      if (hazard.level == Level::Maybe && !sets_.has(earlier.may, kHost))
        hazard.condition = "both use the same part of '" + hazard.buffer.name + "'";
      raise({.hazard = std::move(hazard),
             .later = index_,
             .earlier = earlier.op,
             .memory = mine->memory,
             .earlier_stream = earlier.stream,
             .other_iteration = of_earlier_iteration(earlier)});
    }
  }
}

void Inspector::end_of_memory() {
  const ValueId memory = span_of(values_, store_->evaluate(values_, op_->source)).memory;
  if (memory == kUnknown || memory == kNull) return;
  if (const auto captured = order_->captured_memory().find(memory);
      captured != order_->captured_memory().end() && graph_survives())
    release_captured(memory, captured->second);
  if (op_->tensor) return release_tensor(memory);
  std::optional<MemoryKind> kind = op_->memory;
  const auto made_as = values_.memory_kind(memory);
  if (!kind) kind = made_as;
  const bool has_stream = op_->stream.kind != ir::Operand::Kind::None;
  if (kind == MemoryKind::DeviceAsync && has_stream) return release_in_order(memory);
  if (made_as == MemoryKind::DeviceAsync) kind = made_as;
  release_by_host(memory, kind);
}

bool Inspector::graph_survives() const {
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

void Inspector::release_captured(ValueId memory, OpIndex use) {
  // Whether the graph is launched again after this is not followed.
  Hazard hazard = start(Check::PrematureFree, Level::Maybe);
  hazard.which = CheckCase::Captured;
  hazard.later = witness_.deed(index_, kUnknown);
  hazard.earlier = witness_.deed(use, kUnknown);
  hazard.buffer = witness_.memory(memory, op_->source, index_);
  raise({.hazard = std::move(hazard), .later = index_, .earlier = use, .memory = memory});
}

void Inspector::release_tensor(ValueId memory) {
  const ValueId home = order_->stream_of(values_, *store_, index_);
  if (home == kUnknown) return;
  const SetId kept = order_->kept(sets_, memory);
  for (const Pending& earlier : order_->pending()) {
    if (earlier.access >= kEventRecord || !related(values_, earlier.memory, memory)) continue;
    if (Order::one_stream(values_, earlier.stream, home) || order_->surely_before(values_, sets_, earlier.must, home)) {
      note_calm(earlier);
      continue;
    }
    const auto keeps = [&](std::uint32_t stream) { return values_.may_equal(ValueId{stream}, earlier.stream); };
    if (std::any_of(sets_[kept].begin(), sets_[kept].end(), keeps)) continue;
    const bool definite =
        values_.certainly_different(earlier.stream, home) && !order_->perhaps_before(values_, sets_, earlier.may, home);
    Hazard hazard = start(Check::MissingRecordStream, definite ? Level::Definite : Level::Maybe);
    hazard.later = witness_.deed(index_, home);
    hazard.earlier = witness_.deed(earlier);
    hazard.buffer = witness_.memory(memory, op_->source, index_);
    explain(hazard, earlier, home);
    tell_belief(hazard, earlier.stream, home);
    undecided_ = undecided_ || !definite;
    raise({.hazard = std::move(hazard),
           .later = index_,
           .earlier = earlier.op,
           .memory = memory,
           .later_stream = home,
           .earlier_stream = earlier.stream,
           .other_iteration = of_earlier_iteration(earlier)});
  }
}

void Inspector::release_in_order(ValueId memory) {
  const ValueId stream = order_->stream_of(values_, *store_, index_);
  if (stream == kUnknown) return;
  for (const Pending& earlier : order_->pending()) {
    if (earlier.access == kEventRecord || !related(values_, earlier.memory, memory)) continue;
    if (Order::one_stream(values_, earlier.stream, stream) ||
        order_->surely_before(values_, sets_, earlier.must, stream)) {
      note_calm(earlier);
      continue;
    }
    const bool definite = values_.certainly_different(earlier.stream, stream) &&
                          !order_->perhaps_before(values_, sets_, earlier.may, stream);
    Hazard hazard = start(Check::PrematureFree, !definite       ? Level::Maybe
                                                : earlier.leans ? Level::Latent
                                                                : Level::Definite);
    if (hazard.level == Level::Latent) hazard.rule = ordering::rule_id(*earlier.leans);
    hazard.later = witness_.deed(index_, stream);
    hazard.earlier = witness_.deed(earlier);
    hazard.buffer = witness_.memory(memory, op_->source, index_);
    explain(hazard, earlier, stream);
    tell_belief(hazard, earlier.stream, stream);
    undecided_ = undecided_ || !definite;
    raise({.hazard = std::move(hazard),
           .later = index_,
           .earlier = earlier.op,
           .memory = memory,
           .later_stream = stream,
           .earlier_stream = earlier.stream,
           .other_iteration = of_earlier_iteration(earlier)});
  }
}

void Inspector::release_by_host(ValueId memory, std::optional<MemoryKind> kind) {
  std::optional<Rule> leans;
  bool ends_quietly = false;  // free(), delete, a scope: nothing in it could wait
  if (kind == MemoryKind::Device || kind == MemoryKind::Managed) {
    leans = Rule::ALC_02;
  } else if (kind == MemoryKind::Pinned || kind == MemoryKind::Registered) {
    if (op_->kind == ir::OpKind::Free) leans = Rule::ALC_05;
    ends_quietly = op_->kind == ir::OpKind::EndOfLife;
  } else {
    ends_quietly = kind != MemoryKind::DeviceAsync;
  }
  for (const Pending& earlier : order_->pending()) {
    if (earlier.access >= kRelease || earlier.access == kEventRecord || earlier.access == kAllocation) continue;
    if (!related(values_, earlier.memory, memory)) continue;
    if (sets_.has(earlier.must, kHost)) {
      note_calm(earlier);
      continue;
    }
    const std::optional<Rule> rule = leans ? leans : earlier.leans;
    Hazard hazard = start(ends_quietly ? Check::AsyncCopyLifetime : Check::PrematureFree, sets_.has(earlier.may, kHost)
                                                                                              ? Level::Maybe
                                                                                          : rule ? Level::Latent
                                                                                                 : Level::Definite);
    if (hazard.level == Level::Latent) hazard.rule = ordering::rule_id(*rule);
    hazard.later = witness_.deed(index_, kUnknown);
    hazard.earlier = witness_.deed(earlier);
    hazard.buffer = witness_.memory(memory, op_->source, index_);
    if (ends_quietly) {
      hazard.detail = op_->kind == ir::OpKind::Free && op_->detail.empty() && !op_->name.empty()
                          ? "is freed by " + op_->name
                          : op_->detail;
      const bool temporary =
          op_->source.place != ir::kNoPlace && values_.function()[op_->source.place].kind == ir::Place::Kind::Temporary;
      if (temporary) hazard.buffer.name.clear();
    }
    explain(hazard, earlier, kUnknown);
    undecided_ = undecided_ || hazard.level == Level::Maybe;
    raise({.hazard = std::move(hazard),
           .later = index_,
           .earlier = earlier.op,
           .memory = memory,
           .earlier_stream = earlier.stream,
           .other_iteration = of_earlier_iteration(earlier)});
  }
}

}  // namespace streamsan::analyzer

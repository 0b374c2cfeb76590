// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations, frees, and the possible effects of unknown code on its arguments.
//
// A stream-ordered free is work that writes the memory, so that later uses conflict with it; so is a stream-ordered
// allocation. After any other free the memory does not exist. Today's driver waits for the device in cudaFree and
// cudaFreeHost, which no document promises: the order of pending accesses relies on that rule from then on.
#include "analyzer/analysis/order_step.h"

#include <algorithm>
#include <vector>

namespace streamsan::analyzer {

using ordering::MemoryKind;
using ordering::Rule;

namespace {

/// The pointer to `memory` is a part of the object that `object` points to.
bool held_in(const Values& values, ValueId memory, ValueId object) {
  LocationId at = values[memory].location;
  while (at != kNowhere && (values[at].kind == Location::Kind::Field || values[at].kind == Location::Kind::Index))
    at = values[at].base;
  return at != kNowhere && values[at].kind == Location::Kind::Target && values.must_equal(values[at].pointer, object);
}

}  // namespace

void OrderStep::allocate() {
  const ValueId made = values_.object(index_);
  if (op_.memory == MemoryKind::Registered && op_.source.kind != ir::Operand::Kind::None) {
    const ValueId memory = span_of(values_, store_.evaluate(values_, op_.source)).memory;
    const auto at = std::lower_bound(order_.registered_.begin(), order_.registered_.end(), memory);
    if (at == order_.registered_.end() || *at != memory) order_.registered_.insert(at, memory);
    return;
  }
  if (order_.capturing_ != Tri::No && op_.memory != MemoryKind::DeviceAsync) order_.made_inside_.emplace(made, index_);
  if (order_.capturing_ != Tri::No) return;
  const ValueId stream = this->stream();
  // The blocks that went back in the order of this stream may be given out now: their marks end here.
  if (op_.tensor)
    std::erase_if(order_.pending_,
                  [&](const Pending& p) { return p.access == kReturned && values_.must_equal(p.home, stream); });
  if (op_.tensor || op_.memory != MemoryKind::DeviceAsync) return;
  // R-STR-17: in the legacy stream the allocation makes no order, but nobody counts on that being a fault.
  if (stream == kUnknown || values_.is_legacy(stream)) return;
  Pending added = fresh(kAllocation, made, stream);  // R-SOA-01
  added.mode = ir::Mode::Write;
  insert(added);
}

void OrderStep::forget_memory(ValueId memory) {
  order_.captured_memory_.erase(memory);
  const auto of_memory = [&](const Pending& p) {
    return p.access != kEventRecord && related(values_, p.memory, memory);
  };
  std::erase_if(order_.pending_, of_memory);
  std::erase_if(order_.thread_.held_back, of_memory);
}

void OrderStep::return_block(ValueId memory, ValueId home) {
  std::vector<Pending> uses;
  for (const Pending& p : order_.pending_) {
    if (p.access >= kReturned || is_message(values_, p) || !related(values_, p.memory, memory)) continue;
    if (Order::is_waited_for_by_allocator(values_, p, memory)) continue;
    if (home == kUnknown || over(p) || Order::one_stream(values_, p.stream, home) || surely(p, home)) continue;
    Pending use{.op = p.op, .access = kReturned, .memory = values_.object(index_), .stream = p.stream};
    use.must = p.must;
    use.may = p.may;
    use.home = home;
    uses.push_back(use);
  }
  forget_memory(memory);
  for (const Pending& use : uses) insert(use);
}

void OrderStep::lean_all(Rule rule) {
  for (Pending& p : order_.pending_)
    if (!sets_.has(p.must, kHost) && !p.leans) p.leans = rule;
}

void OrderStep::free() {
  const ValueId memory = span_of(values_, store_.evaluate(values_, op_.source)).memory;
  const ValueId stream = this->stream();
  if (op_.tensor) return return_block(memory, stream);
  if (op_.memory == MemoryKind::DeviceAsync && op_.stream.kind != ir::Operand::Kind::None) {
    if (order_.capturing_ != Tri::No) return;
    disturb(stream);
    if (stream != kUnknown) {
      barrier(stream);
      order_.busy_[stream] = index_;
    }
    forget_memory(memory);
    if (stream == kUnknown || !values_.precise(memory)) return;
    Pending added = fresh(kRelease, memory, stream);
    added.mode = ir::Mode::Write;
    return insert(added);
  }
  const bool ordered = values_.memory_kind(memory) == MemoryKind::DeviceAsync;
  forget_memory(memory);
  if (memory == kNull || ordered) return;
  if (op_.memory == MemoryKind::Pinned || op_.memory == MemoryKind::Registered) lean_all(Rule::ALC_05);
  if (op_.memory == MemoryKind::Device || op_.memory == MemoryKind::Managed) lean_all(Rule::ALC_02);
}

/// Gives back a block of memory, or all blocks that an object has pointers to.
void OrderStep::give_back() {
  std::vector<ValueId> given{store_.evaluate(values_, op_.source)};
  for (const auto& [value, type] : store_.reach(values_, op_.source)) given.push_back(value);
  const auto goes_back = [&](ValueId memory) {
    return std::ranges::any_of(given, [&](const ValueId block) {
      const ValueId whole = span_of(values_, block).memory;
      return whole != kUnknown && whole != kNull &&
             (related(values_, memory, whole) || held_in(values_, memory, whole));
    });
  };
  for (Pending& p : order_.pending_)
    if (p.access != kEventRecord && goes_back(p.memory)) p.given_back = index_;
  for (auto& [memory, captured] : order_.captured_memory_)
    if (goes_back(memory)) captured.given_back = index_;
}

void OrderStep::keep_alive() {
  const ValueId memory = span_of(values_, store_.evaluate(values_, op_.source)).memory;
  const ValueId on = stream();
  // A copy of a tensor of which nothing is known keeps nothing that is.
  if (memory == kUnknown && on == kUnknown) return;
  SetId& streams = order_.kept_[memory];
  streams = sets_.add(streams, static_cast<std::uint32_t>(on));
}

void OrderStep::escape() {
  order_.quiet_.clear();
  for (const auto& [value, type] : store_.reach(values_, op_.source)) {
    if (type == ir::TypeKind::Stream) {
      if (order_.busy_.contains(value)) order_.strangers_ = true;
      for (Pending& p : order_.pending_) {
        if (over(p)) continue;
        // Any stream may have been made to wait for it, and it for any stream.
        if (perhaps(p, value)) p.may = sets_.add(p.may, kHost);
        p.may = sets_.add(p.may, stream_token(value));
      }
    } else if (type == ir::TypeKind::Event) {
      recorded(value);
      order_.events_.erase(value);
      order_.opened_.erase(value);
      for (Pending& p : order_.pending_) {
        if (over(p)) continue;
        p.may = sets_.add(p.may, event_token(value));
        p.must = sets_.without(p.must, [&](std::uint32_t token) { return token == event_token(value); });
      }
    } else {
      forget_memory(span_of(values_, value).memory);
    }
  }
}

}  // namespace streamsan::analyzer

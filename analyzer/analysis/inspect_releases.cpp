// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Following releases. inspect_releases.h explains it.
#include "analyzer/analysis/inspect_releases.h"

#include <algorithm>

#include "analyzer/ir/hidden.h"

namespace streamsan::analyzer {

using ir::OpKind;

void ReleaseQuestions::hold(const Pending& use, Raised raised) {
  Held& held = held_[{look_.index, use.op}];
  if (!held.raised) held.raised = std::move(raised);
}

void ReleaseQuestions::judge(const Pending& use, bool ends) {
  Held& held = held_[{values_[use.memory].site, use.op}];
  if (sets_.has(use.must, kHost) || look_.order->surely_before(values_, sets_, use.must, use.home)) {
    held.in_order = true;
    return;
  }
  const bool perhaps = look_.order->perhaps_before(values_, sets_, use.may, use.home);
  (ends ? held.open : held.given_out) = true;
  if (!ends) {
    held.surely = held.surely || !perhaps;
    return;
  }
  held.perhaps = held.perhaps || perhaps;
  held.at_end = use;
}

bool ReleaseQuestions::in_order_next_time(const Pending& use) const {
  const auto forked = forked_.find(use.home);
  if (forked != forked_.end() && forked->second && values_.must_equal(use.stream, caller_)) return true;
  return std::ranges::any_of(sets_[use.must], [&](const std::uint32_t token) {
    return is_event(token) && first_waits_.contains({use.home, value_of(token)});
  });
}

const Pending* ReleaseQuestions::entry() const {
  for (const Pending& p : look_.order->pending())
    if (p.access == kEventRecord && p.op == entry_) return &p;
  return nullptr;
}

void ReleaseQuestions::works(ValueId stream) {
  if (stream == kUnknown || !values_.from_outside(stream)) return;
  const Pending* begin = entry_ == kNoOp ? nullptr : entry();
  const bool forked = begin != nullptr && look_.order->surely_before(values_, sets_, begin->must, stream);
  const auto [known, first] = forked_.try_emplace(stream, forked);
  if (!first) known->second = known->second && forked;
}

void ReleaseQuestions::ask() {
  const ir::Op& op = *look_.op;
  switch (op.kind) {
    case OpKind::Record:
      if (op.event.kind != ir::Operand::Kind::Value) return;
      if (!ir::is(values_.function()[op.event.place], ir::Hidden::Entry)) return;
      entry_ = look_.index;
      caller_ = look_.store->stream(values_, op.stream);
      return;
    case OpKind::Wait: {
      const ValueId event = look_.store->evaluate(values_, op.event);
      const ValueId stream = look_.store->stream(values_, op.stream);
      if (values_.precise(event) && values_.precise(stream) && look_.order->event(event) == nullptr &&
          !allocates_.contains(stream))
        first_waits_.emplace(stream, event);
      return;
    }
    case OpKind::Enqueue:
      return works(look_.order->stream_of(values_, *look_.store, look_.index));
    case OpKind::Allocate: {
      if (!op.tensor) return;
      const ValueId stream = look_.order->stream_of(values_, *look_.store, look_.index);
      works(stream);
      allocates_.insert(stream);
      for (const Pending& use : look_.order->pending())
        if (use.access == kReturned && values_.must_equal(use.home, stream)) judge(use, false);
      return;
    }
    case OpKind::Return:
      for (const Pending& use : look_.order->pending())
        if (use.access == kReturned) judge(use, true);
      return;
    default:
      return;
  }
}

void ReleaseQuestions::conclude() {
  for (auto& [ops, held] : held_) {
    const auto& [release, use] = ops;
    if (!held.raised) continue;
    Raised& raised = *held.raised;
    if (held.in_order && !held.given_out) {
      settled_.emplace_back(raised.hazard.later.where, raised.hazard.earlier->where);
      look_.choice.note_ordered(release, use);
      if (!held.open) continue;
    }
    const bool maybe =
        held.given_out ? !held.surely : held.in_order || held.perhaps || (held.open && in_order_next_time(held.at_end));
    if (maybe) raised.hazard.level = Level::Maybe;
    raised.hazard.at_the_end = held.open && !held.given_out;
    look_.raise(std::move(raised));
  }
}

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which questions are asked at which op, and which of the answers are told. The essay is in inspector.h.
#include "analyzer/analysis/inspector.h"

#include <algorithm>
#include <tuple>

namespace streamsan::analyzer {

using ir::OpKind;

void Inspector::at(const Store& store, const Order& order, std::uint32_t block, std::uint32_t position) {
  store_ = &store;
  order_ = &order;
  block_ = block;
  position_ = position;
  index_ = values_.first_op(block) + position;
  op_ = &values_.op(index_);
  if (values_.has_copies(index_)) visited_copies_[values_.origin(index_)].insert(index_);
  handles();
  if (order.capturing() != Tri::No) return capture();
  switch (op_->kind) {
    case OpKind::Enqueue:
      if (order.holds_back(*op_)) return;
      races();
      return pageable_copy();
    case OpKind::GroupEnd:
      return released_races();
    case OpKind::HostAccess:
      return host_access();
    case OpKind::Free:
    case OpKind::EndOfLife:
      return end_of_memory();
    case OpKind::Wait:
      return wait();
    case OpKind::SyncEvent:
      wait();
      return redundant_event_sync();
    case OpKind::Record:
      return record();
    case OpKind::Elapsed:
      return elapsed();
    case OpKind::SyncDevice:
      device_sync();
      return redundant_sync();
    case OpKind::SyncStream:
      return redundant_sync();
    default:
      return;
  }
}

bool Inspector::ordered_on_some_path(const Pending& earlier, ValueId later) const {
  if (later == kUnknown) return sets_.has(earlier.may, kHost);
  const SetId others = sets_.without(earlier.may, [&](std::uint32_t t) { return t == stream_token(earlier.stream); });
  return order_->perhaps_before(values_, sets_, others, later);
}

bool Inspector::of_earlier_iteration(const Pending& earlier) const {
  return earlier.earlier_iteration && inside_same_loop(earlier);
}

bool Inspector::inside_same_loop(const Pending& earlier) const {
  const auto& blocks = values_.function().blocks;
  std::vector<bool> seen(blocks.size());
  std::vector<std::uint32_t> work{block_};
  while (!work.empty()) {
    const std::uint32_t block = work.back();
    work.pop_back();
    for (ir::BlockId successor : blocks[block].successors) {
      const auto to = static_cast<std::uint32_t>(successor);
      const OpIndex first = values_.first_op(to);
      if (earlier.op >= first && earlier.op < first + blocks[to].ops.size()) return true;
      if (seen[to]) continue;
      seen[to] = true;
      work.push_back(to);
    }
  }
  return false;
}

bool Inspector::always_after(const Pending& earlier) const {
  const auto& blocks = values_.function().blocks;
  const auto within = [&](std::uint32_t block) {
    const OpIndex first = values_.first_op(block);
    return earlier.op >= first && earlier.op < first + blocks[block].ops.size();
  };
  if (within(block_)) return earlier.op < index_;
  // Is there a way around it?
  std::vector<bool> seen(blocks.size());
  std::vector<std::uint32_t> work;
  if (!within(0)) work.push_back(0);
  while (!work.empty()) {
    const std::uint32_t block = work.back();
    work.pop_back();
    if (block == block_) return false;
    for (ir::BlockId successor : blocks[block].successors) {
      const auto to = static_cast<std::uint32_t>(successor);
      if (seen[to] || within(to)) continue;
      seen[to] = true;
      work.push_back(to);
    }
  }
  return true;
}

Hazard Inspector::start(Check check, Level level) const {
  Hazard hazard;
  hazard.check = check;
  hazard.level = level;
  hazard.function = values_.function().name;
  hazard.usr = values_.function().usr;
  return hazard;
}

void Inspector::raise(Raised raised) { raised_.push_back(std::move(raised)); }

void Inspector::note_calm(const Pending& earlier) {
  if (values_.has_copies(index_)) calm_.emplace(values_.origin(index_), values_.origin(earlier.op));
}

void Inspector::weigh_copies() {
  using Which = std::tuple<Check, std::uint32_t, std::uint32_t>;
  const auto which = [this](const Raised& r) {
    return Which(r.hazard.check, values_.origin(r.later), r.earlier == kNoOp ? kNoOp : values_.origin(r.earlier));
  };
  std::map<Which, std::set<OpIndex>> raising;
  for (const Raised& r : raised_)
    if (r.later != kNoOp) raising[which(r)].insert(r.later);
  std::erase_if(raised_, [&](Raised& r) {
    if (r.later == kNoOp || !values_.has_copies(r.later) || r.hazard.level == Level::Maybe) return false;
    const Which one = which(r);
    // In the other copies the earlier side has not happened, or they are not in order either.
    const bool all = r.memory != kUnknown ? !calm_.contains({std::get<1>(one), std::get<2>(one)})
                                          : raising[one].size() == visited_copies_[std::get<1>(one)].size();
    if (!all) r.hazard.level = Level::Maybe;
    return !all && group(r.hazard.check) != Group::Correctness;
  });
  // Copies are one op to those who read of it.
  for (Raised& r : raised_) {
    const auto first = [this](OpIndex op) {
      const auto copies = op == kNoOp ? visited_copies_.end() : visited_copies_.find(values_.origin(op));
      return copies == visited_copies_.end() ? op : *copies->second.begin();
    };
    if (r.later != kNoOp && !values_.has_copies(r.later)) continue;
    r.later = first(r.later);
    r.earlier = first(r.earlier);
  }
}

std::vector<Hazard> Inspector::take() {
  for (std::size_t i = 0; i < rerecords_.size(); ++i) {
    const auto [event, op] = rerecord_events_[i];
    // Two records in the body of a loop lose each other: told is the second.
    const bool around = std::ranges::any_of(rerecords_, [&](const Raised& r) {
      return rerecords_[i].earlier > op && r.later == rerecords_[i].earlier && r.earlier == op;
    });
    if (around) continue;
    // Not waited for at all: then nobody relies on it.
    for (const auto& [waited, by] : waited_events_) {
      if (by <= op || !values_.must_equal(waited, event)) continue;
      rerecords_[i].hazard.edge = witness_.where(by);
      raise(std::move(rerecords_[i]));
      break;
    }
  }
  // A wait for nothing is told where it stands; what it fails to order follows from it.
  std::erase_if(raised_, [this](const Raised& r) {
    return r.hazard.check == Check::EventWaitWithoutRecord && r.hazard.earlier &&
           r.hazard.cause == Cause::NeverRecorded && !useless_waits_.empty();
  });

  weigh_copies();
  // The most certain first, then the nearest pair.
  std::stable_sort(raised_.begin(), raised_.end(), [](const Raised& a, const Raised& b) {
    const auto rank = [](const Raised& r) { return std::tuple(r.hazard.level, r.other_iteration, r.later); };
    return rank(a) != rank(b) ? rank(a) < rank(b)
                              : a.earlier != b.earlier && b.earlier != kNoOp && a.earlier > b.earlier;
  });
  std::set<std::tuple<Check, OpIndex, OpIndex>> pairs;
  std::set<std::tuple<OpIndex, ValueId, ValueId>> told_later, told_earlier;
  std::vector<Raised> kept;
  for (Raised& r : raised_) {
    if (!pairs.emplace(r.hazard.check, r.later, r.earlier).second) continue;
    if (r.memory != kUnknown) {
      const bool known = told_later.contains({r.later, r.earlier_stream, r.memory}) ||
                         told_earlier.contains({r.earlier, r.later_stream, r.memory});
      told_later.emplace(r.later, r.earlier_stream, r.memory);
      told_earlier.emplace(r.earlier, r.later_stream, r.memory);
      if (known) continue;
    }
    kept.push_back(std::move(r));
  }
  std::stable_sort(kept.begin(), kept.end(), [](const Raised& a, const Raised& b) { return a.later < b.later; });
  std::vector<Hazard> result;
  for (Raised& r : kept) result.push_back(std::move(r.hazard));
  return result;
}

}  // namespace streamsan::analyzer

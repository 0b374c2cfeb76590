// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins, ages and queries the order. order.h explains it; order_step.h has the effect of an op on it.
#include "analyzer/analysis/order.h"

#include <algorithm>
#include <tuple>

namespace streamsan::analyzer {
namespace {

auto which(const Pending& p) { return std::tie(p.op, p.access, p.memory, p.offset, p.stream); }

void join_pending(Sets& sets, Pending& mine, const Pending& theirs) {
  // An access that the host knows to be complete is before everything: its set stands for all tokens.
  const bool all_of_mine = sets.has(mine.must, kHost), all_of_theirs = sets.has(theirs.must, kHost);
  if (all_of_mine == all_of_theirs) {
    mine.must = sets.intersect(mine.must, theirs.must);
  } else if (all_of_mine) {
    mine.must = theirs.must;
  }
  mine.may = sets.unite(mine.may, theirs.may);
  mine.since = sets.unite(mine.since, theirs.since);
  if (mine.bytes != theirs.bytes) mine.bytes = kSomewhere;
  if (mine.arguments != theirs.arguments) mine.arguments = kSomewhere;
  if (mine.from != theirs.from) mine.from = kSomewhere;
  if (!mine.leans) mine.leans = theirs.leans;
  mine.earlier_iteration = mine.earlier_iteration && theirs.earlier_iteration;
  if (theirs.given_back == kNoOp) mine.given_back = kNoOp;
  if (mine.home != theirs.home) mine.home = kUnknown;
}

bool surely_blocking(const Values& values, ValueId stream) {
  const auto kind = values.stream_kind(stream);
  return kind == ordering::StreamKind::Blocking || kind == ordering::StreamKind::PerThread;
}

bool perhaps_blocking(const Values& values, ValueId stream) {
  return values.stream_kind(stream) != ordering::StreamKind::NonBlocking;
}

template <typename Map>
Map aged_keys(Values& values, Map map, const Aging& aging) {
  if (std::ranges::none_of(map, [&](const auto& entry) { return values.may_age(entry.first); })) return map;
  Map result;
  for (const auto& [value, what] : map) {
    const ValueId now = values.aged(value, aging);
    if (now == value || values.precise(now)) result.insert_or_assign(now, what);
  }
  return result;
}

}  // namespace

Span span_of(const Values& values, ValueId pointer) {
  const Value& value = values[pointer];
  // An offset of 0 steps is 0, whatever the length of a step.
  if (value.kind == Value::Kind::Shifted) return {value.since, values[value.key].constant == 0 ? kWhole : value.key};
  return {pointer, kWhole};
}

bool related(const Values& values, ValueId a, ValueId b) {
  if (values.must_equal(a, b)) return true;
  const Value &left = values[a], &right = values[b];
  if (left.kind != Value::Kind::Address || right.kind != Value::Kind::Address) return false;
  if (!values.precise(a) || !values.precise(b)) return false;
  return values.inside(left.location, right.location) || values.inside(right.location, left.location);
}

bool Order::one_stream(const Values& values, ValueId a, ValueId b) {
  if (values.must_equal(a, b)) return true;
  return values.is_default_stream(a) && values[a].kind == values[b].kind && !values.proved_different(a, b);
}

bool Order::surely_meet(const Values& values, ValueId legacy, ValueId other) const {
  return values.is_legacy(legacy) && surely_blocking(values, other) && !on_two_devices(values, legacy, other);
}

bool Order::perhaps_meet(const Values& values, ValueId legacy, ValueId other) const {
  return values.is_legacy(legacy) && perhaps_blocking(values, other) && !on_two_devices(values, legacy, other);
}

bool Order::surely_before(const Values& values, const Sets& sets, SetId must, ValueId stream) const {
  for (std::uint32_t token : sets[must]) {
    if (token == kHost) return true;
    if (!is_stream(token)) continue;
    const ValueId before = value_of(token);
    if (one_stream(values, before, stream)) return true;
    if (surely_meet(values, stream, before) || surely_meet(values, before, stream)) return true;
  }
  return false;
}

bool Order::perhaps_before(const Values& values, const Sets& sets, SetId may, ValueId stream) const {
  for (std::uint32_t token : sets[may]) {
    if (token == kHost) return true;
    if (!is_stream(token)) continue;
    const ValueId before = value_of(token);
    if (values.may_equal(before, stream)) return true;
    if (perhaps_meet(values, stream, before) || perhaps_meet(values, before, stream)) return true;
  }
  return false;
}

const EventState* Order::event(ValueId event) const {
  // Created out of sight: a field that is null first, and another such field.
  if (event == kNull) return nullptr;
  const auto it = events_.find(event);
  return it == events_.end() ? nullptr : &it->second;
}

bool Order::never_recorded(const Values& values, ValueId event) const {
  if (const EventState* state = this->event(event)) return state->never;
  const MakersId makers = values[event].makers;
  if (makers == kNoMakers || unknown_recorded_) return false;
  return std::ranges::none_of(values[makers], [&](OpIndex maker) {
    return values.op(maker).kind != ir::OpKind::CreateEvent ||
           std::binary_search(recorded_.begin(), recorded_.end(), maker);
  });
}

std::pair<OpIndex, bool> Order::destroyed(ValueId handle) const {
  const auto it = destroyed_.find(handle);
  return it == destroyed_.end() ? std::pair{kNoOp, false} : it->second;
}

OpIndex Order::quiet_since(ValueId stream) const {
  const auto it = quiet_.find(stream);
  return it == quiet_.end() ? kNoOp : it->second;
}

bool Order::registered(ValueId memory) const {
  return std::binary_search(registered_.begin(), registered_.end(), memory);
}

SetId Order::kept(Sets& sets, ValueId memory) const {
  const auto its = kept_.find(memory), any = kept_.find(kUnknown);
  return sets.unite(its == kept_.end() ? kEmptySet : its->second, any == kept_.end() ? kEmptySet : any->second);
}

std::optional<ordering::MemoryKind> Order::kind(const Values& values, const ir::Access& access, ValueId memory) const {
  if (access.pinned) return ordering::MemoryKind::Pinned;
  const ValueId block = span_of(values, memory).memory;
  if (registered(block)) return ordering::MemoryKind::Registered;
  if (const auto known = values.memory_kind(block)) return known;
  if (access.pageable) return ordering::MemoryKind::Pageable;
  if (access.on_host && !*access.on_host) return ordering::MemoryKind::Device;
  return std::nullopt;
}

bool Order::is_done_by_host(Values& values, const Store& store, OpIndex index) const {
  const ir::Op& op = values.op(index);
  if (!op.of_tensors || op.accesses.empty()) return false;
  return std::ranges::all_of(op.accesses, [&](const ir::Access& access) {
    const auto known = kind(values, access, store.evaluate(values, access.memory));
    return known == ordering::MemoryKind::Pinned || known == ordering::MemoryKind::Pageable;
  });
}

void age_all(Values& values, Sets& sets, std::vector<Pending>& pending, const Aging& aging) {
  const auto aged_token = [&](std::uint32_t token) {
    if (token == kHost) return token;
    const ValueId now = values.aged(value_of(token), aging);
    if (token >= kDependents) return token % 2 == 0 ? start_token(now) : waited_token(now);
    return is_event(token) ? event_token(now) : stream_token(now);
  };
  bool renamed = false;
  auto kept = pending.begin();
  for (Pending& p : pending) {
    const Pending before = p;
    p.memory = values.aged(p.memory, aging);
    if (!values.precise(p.memory)) continue;
    p.offset = values.aged(p.offset, aging);
    p.bytes = values.aged(p.bytes, aging);
    p.arguments = values.aged(p.arguments, aging);
    p.from = values.aged(p.from, aging);
    p.stream = values.aged(p.stream, aging);
    p.home = values.aged(p.home, aging);
    p.must = sets.map(p.must, aged_token);
    p.may = sets.map(p.may, aged_token);
    renamed = renamed || which(p) != which(before);
    *kept++ = p;
  }
  pending.erase(kept, pending.end());
  if (renamed) {
    std::sort(pending.begin(), pending.end(), [](const Pending& a, const Pending& b) { return which(a) < which(b); });
    std::size_t last = 0;
    for (std::size_t i = 1; i < pending.size(); ++i) {
      if (which(pending[last]) == which(pending[i])) {
        join_pending(sets, pending[last], pending[i]);
      } else {
        pending[++last] = pending[i];
      }
    }
    pending.resize(last + 1);
  }
}

std::vector<Pending> joined(Sets& sets, const std::vector<Pending>& mine, const std::vector<Pending>& theirs,
                            bool back_edge) {
  std::vector<Pending> all;
  all.reserve(mine.size() + theirs.size());
  auto next = mine.begin();
  for (const Pending& incoming : theirs) {
    Pending other = incoming;
    other.earlier_iteration = other.earlier_iteration || back_edge;
    while (next != mine.end() && which(*next) < which(other)) all.push_back(*next++);
    if (next != mine.end() && which(*next) == which(other)) {
      all.push_back(*next++);
      join_pending(sets, all.back(), other);
    } else {
      all.push_back(other);
    }
  }
  all.insert(all.end(), next, mine.end());
  return all;
}

void insert(std::vector<Pending>& pending, const Pending& added) {
  const auto at = std::lower_bound(pending.begin(), pending.end(), added,
                                   [](const Pending& a, const Pending& b) { return which(a) < which(b); });
  if (at != pending.end() && which(*at) == which(added)) {
    *at = added;  // Later in the same stream: what comes after it comes after the one before.
  } else {
    pending.insert(at, added);
  }
}

void Order::age(Values& values, Sets& sets, const Aging& aging) {
  age_all(values, sets, pending_, aging);
  events_ = aged_keys(values, std::move(events_), aging);
  for (auto& [event, state] : events_) state.stream = values.aged(state.stream, aging);
  destroyed_ = aged_keys(values, std::move(destroyed_), aging);
  quiet_ = aged_keys(values, std::move(quiet_), aging);
  kept_ = aged_keys(values, std::move(kept_), aging);
  unjoined_ = aged_keys(values, std::move(unjoined_), aging);
  opened_ = aged_keys(values, std::move(opened_), aging);
  captured_memory_ = aged_keys(values, std::move(captured_memory_), aging);
  made_inside_ = aged_keys(values, std::move(made_inside_), aging);
  capture_records_ = aged_keys(values, std::move(capture_records_), aging);
  for (auto& [event, stream] : capture_records_) stream = values.aged(stream, aging);
  for (auto& [memory, streams] : kept_)
    streams = sets.map(
        streams, [&](std::uint32_t stream) { return static_cast<std::uint32_t>(values.aged(ValueId{stream}, aging)); });
  if (std::ranges::any_of(busy_, [&](const auto& entry) { return values.may_age(entry.first); })) {
    std::map<ValueId, OpIndex> busy;
    for (const auto& [stream, op] : busy_) busy.try_emplace(values.aged(stream, aging), op);
    busy_ = std::move(busy);
  }
  for (auto& [op, edge] : edges_) {
    edge.stream = values.aged(edge.stream, aging);
    edge.event = values.aged(edge.event, aging);
    edge.recorded_on = values.aged(edge.recorded_on, aging);
  }
  for (ValueId& memory : registered_) memory = values.aged(memory, aging);
  std::sort(registered_.begin(), registered_.end());
  for (ValueId& stream : held_by_value_) stream = values.aged(stream, aging);
  std::sort(held_by_value_.begin(), held_by_value_.end());
  age_thread(values, sets, aging);
}

namespace {

/// The state of one event on two paths. A record of an earlier iteration of a loop is kept, although the first
/// iteration has none: facts about the record only concern iterations that have one.
EventState joined(const EventState& mine, const EventState& theirs, bool back_edge) {
  if (mine.never != theirs.never) {
    EventState recorded = mine.never ? theirs : mine;
    recorded.perhaps_not = recorded.perhaps_not || (back_edge && mine.never);
    if (recorded.perhaps_not) return recorded;
  }
  EventState result = mine;
  result.never = mine.never && theirs.never;
  result.used = mine.used || theirs.used;
  result.perhaps_not = mine.perhaps_not || theirs.perhaps_not;
  if (mine.record != theirs.record) result.record = kNoOp;
  if (mine.stream != theirs.stream) result.stream = kUnknown;
  if (mine.failed != theirs.failed) result.failed = kNoOp;
  return result;
}

}  // namespace

void Order::join_events(const Values& values, const Order& other, bool back_edge, bool& changed) {
  // Absent on one side: for an element of an array of events, the makers may show that it was not recorded there. Else
  // it was not created there, or nothing is known there; both count as nothing known.
  const EventState never{.never = true};
  for (const auto& [event, theirs] : other.events_)
    if (!events_.contains(event) && never_recorded(values, event)) {
      events_[event] = never;
      changed = true;
    }
  for (auto it = events_.begin(); it != events_.end();) {
    const auto known = other.events_.find(it->first);
    const bool absent = known == other.events_.end();
    if (absent && !other.never_recorded(values, it->first)) {
      it = events_.erase(it);
      changed = true;
      continue;
    }
    const EventState state = joined(it->second, absent ? never : known->second, back_edge);
    changed = changed || state != it->second;
    it->second = state;
    ++it;
  }
}

bool Order::join(const Values& values, Sets& sets, const Order& other, bool back_edge, bool first) {
  if (first) {
    *this = other;
    return true;
  }
  bool changed = false;
  const auto set = [&changed](auto& mine, const auto& joined) {
    if (mine == joined) return;
    mine = joined;
    changed = true;
  };

  set(pending_, joined(sets, pending_, other.pending_, back_edge));
  join_events(values, other, back_edge, changed);
  for (const auto& [op, edge] : other.edges_) {
    const auto [it, added] = edges_.try_emplace(op, edge);
    changed = changed || added;
    if (it->second == edge) continue;
    Edge joined = it->second;
    joined.never = joined.never && edge.never;
    if (joined.record != edge.record) joined.record = kNoOp;
    if (joined.recorded_on != edge.recorded_on) joined.recorded_on = kUnknown;
    if (joined.stream != edge.stream) joined.stream = kUnknown;
    if (joined.event != edge.event) joined.event = kUnknown;
    set(it->second, joined);
  }
  for (auto& [handle, by] : destroyed_)
    if (!other.destroyed_.contains(handle)) set(by.second, false);
  for (const auto& [handle, by] : other.destroyed_) {
    const auto [it, added] = destroyed_.try_emplace(handle, by.first, false);
    changed = changed || added;
    if (!added && !by.second) set(it->second.second, false);
  }
  if (capturing_ != other.capturing_) set(capturing_, Tri::Some);
  for (const auto& [stream, op] : other.captured_) changed = captured_.try_emplace(stream, op).second || changed;
  for (const auto& [stream, op] : other.busy_) changed = busy_.try_emplace(stream, op).second || changed;
  set(strangers_, strangers_ || other.strangers_);
  set(perhaps_forked_, perhaps_forked_ || other.perhaps_forked_);
  const std::size_t quiet =
      std::erase_if(quiet_, [&](const auto& entry) { return !other.quiet_.contains(entry.first); });
  changed = changed || quiet != 0;
  // Sorted: what holds on either side.
  const auto unite = [&set](auto& mine, const auto& theirs) {
    std::remove_cvref_t<decltype(theirs)> all;
    std::ranges::set_union(mine, theirs, std::back_inserter(all));
    set(mine, all);
  };
  unite(recorded_, other.recorded_);
  set(unknown_recorded_, unknown_recorded_ || other.unknown_recorded_);
  unite(registered_, other.registered_);
  unite(held_by_value_, other.held_by_value_);
  // Only facts that hold on both sides are kept.
  const auto keep_common = [&changed](auto& mine, const auto& theirs) {
    changed = std::erase_if(mine, [&](const auto& entry) { return !theirs.contains(entry.first); }) != 0 || changed;
  };
  keep_common(unjoined_, other.unjoined_);
  keep_common(opened_, other.opened_);
  keep_common(captured_memory_, other.captured_memory_);
  keep_common(made_inside_, other.made_inside_);
  changed = std::erase_if(capture_records_,
                          [&](const auto& entry) {
                            const auto theirs = other.capture_records_.find(entry.first);
                            return theirs == other.capture_records_.end() || theirs->second != entry.second;
                          }) != 0 ||
            changed;
  for (const auto& [memory, streams] : other.kept_) set(kept_[memory], sets.unite(kept_[memory], streams));
  join_thread(values, sets, other, back_edge, changed);
  return changed;
}

void Order::drop(const std::vector<bool>& ops) {
  std::erase_if(pending_, [&](const Pending& p) { return ops[p.op]; });
}

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of the host thread that later calls depend on.
//
// THE DEVICE. A value stands for it: the version that a SetDevice made, or kFirstDevice. Two values are one device if
// they are equal and precise, or were set from equal constants. They are two devices only if they were set from
// different constants. A handle belongs to the device that was current when it was created; so the device is kept by
// the op that created the handle. The device of a handle from outside is not known; but if no device was ever set, all
// handles are assumed to belong to one. The device matters in three cases: a synchronisation of "the device" does not
// cover the streams of another; an event cannot be recorded in a stream of another device, the call fails; and each
// device has its own default streams (R-STR-22), which do not wait for blocking streams of another.
//
// A DEFAULT STREAM belongs to the device that is current at the call that names it, if that device was set from a
// constant. Else one value stands for the default streams of all devices, which is in order with each of them: that may
// miss a race. A copy in the legacy stream that may be between the memories of two devices (R-CPY-40) is treated so,
// too.
//
// THE CAPTURE MODE. An exchange swaps the thread's mode with that of a variable; a second one with the same variable
// swaps them back. The mode itself is not followed: in between, it may be relaxed.
//
// GROUPS. Between ncclGroupStart and the end of the outermost group, calls enqueue nothing. Their accesses are held
// back under the names they had at the call, and all become pending at the end: two of them are not compared. If it is
// not known whether a group is open, nothing is held back and nothing becomes pending: that may miss a race.
#include <algorithm>
#include <iterator>

#include "analyzer/analysis/order_step.h"

namespace streamsan::analyzer {
namespace {

/// The text of the constant that the device was set from; nullptr: none.
const std::string* number(const Values& values, ValueId device) {
  const Value& value = values[device];
  if (value.kind != Value::Kind::Version) return nullptr;
  const ir::Op& op = values.op(value.site);
  return op.kind == ir::OpKind::SetDevice && !op.detail.empty() ? &op.detail : nullptr;
}

bool one_device(const Values& values, ValueId a, ValueId b) {
  const std::string *first = number(values, a), *second = number(values, b);
  if (first != nullptr && second != nullptr) return *first == *second;
  return a != kUnknown && a == b && (a == kFirstDevice || values.precise(a));
}

ValueId joined_device(const Values& values, ValueId a, ValueId b) { return one_device(values, a, b) ? a : kUnknown; }

}  // namespace

ValueId Order::device_of(const Values& values, ValueId handle) const {
  const Value& value = values[handle];
  std::vector<OpIndex> made;
  if (value.kind == Value::Kind::Object) {
    made = {value.site};
  } else if (value.makers != kNoMakers) {
    made = values[value.makers];
  }
  ValueId result = kUnknown;
  for (OpIndex op : made) {
    const auto known = thread_.made_on.find(op);
    if (known == thread_.made_on.end()) return kUnknown;
    result = op == made.front() ? known->second : joined_device(values, result, known->second);
  }
  return result;
}

const std::string* Order::device_number(const Values& values, ValueId handle) const {
  if (values.is_default_stream(handle)) return values.default_stream_device(handle);
  return number(values, device_of(values, handle));
}

ValueId Order::stream_of(Values& values, const Store& store, OpIndex index) const {
  const ir::Op& op = values.op(index);
  const ValueId stream = store.stream(values, op.stream);
  if (stream == kLegacy && op.work == ir::Work::Copy) {
    const auto on_host = [&](const ir::Access& access) {
      const auto known = kind(values, access, store.evaluate(values, access.memory));
      if (!known) return access.on_host.value_or(false);
      return *known != ordering::MemoryKind::Managed && !ordering::is_on_device(*known);
    };
    if (std::ranges::none_of(op.accesses, on_host)) return stream;
  }
  return of_current_device(values, stream);
}

ValueId Order::of_current_device(Values& values, ValueId stream) const {
  const std::string* device = number(values, thread_.device);
  if (device == nullptr || (stream != kLegacy && stream != kPerThread)) return stream;
  return values.default_stream_of(stream, *device);
}

bool Order::on_two_devices(const Values& values, ValueId a, ValueId b) const {
  const std::string *first = device_number(values, a), *second = device_number(values, b);
  return first != nullptr && second != nullptr && *first != *second;
}

bool Order::on_current_device(const Values& values, ValueId stream) const {
  if (values.is_default_stream(stream)) {
    const std::string *bound = device_number(values, stream), *current = number(values, thread_.device);
    return bound == nullptr ? current == nullptr : current != nullptr && *bound == *current;
  }
  const ValueId device = device_of(values, stream);
  if (thread_.device == kFirstDevice) return device == kFirstDevice || device == kUnknown;
  return one_device(values, device, thread_.device);
}

bool Order::on_another_device(const Values& values, ValueId stream) const {
  const std::string *its = device_number(values, stream), *current = number(values, thread_.device);
  return its != nullptr && current != nullptr && *its != *current;
}

const std::vector<Pending>& Order::released() const {
  static const std::vector<Pending> kNothing;
  return thread_.groups == 1U ? thread_.held_back : kNothing;
}

void Order::age_thread(Values& values, Sets& sets, const Aging& aging) {
  HostThread& t = thread_;
  t.device = values.aged(t.device, aging);
  for (auto& [op, device] : t.made_on) device = values.aged(device, aging);
  for (ValueId& mode : t.modes) {
    mode = values.aged(mode, aging);
    if (!values.precise(mode)) mode = kUnknown;
  }
  std::ranges::sort(t.modes);
  t.modes.erase(std::unique(t.modes.begin(), t.modes.end()), t.modes.end());
  age_all(values, sets, t.held_back, aging);
  std::map<ValueId, OpIndex> streams;
  for (const auto& [stream, op] : t.held_streams) streams.try_emplace(values.aged(stream, aging), op);
  t.held_streams = std::move(streams);
}

void Order::join_thread(const Values& values, Sets& sets, const Order& other, bool back_edge, bool& changed) {
  const auto set = [&changed](auto& mine, const auto& joined) {
    if (mine == joined) return;
    mine = joined;
    changed = true;
  };
  HostThread& mine = thread_;
  const HostThread& theirs = other.thread_;
  set(mine.device, joined_device(values, mine.device, theirs.device));
  for (const auto& [op, device] : theirs.made_on) {
    const auto [it, added] = mine.made_on.try_emplace(op, device);
    changed = changed || added;
    if (!added) set(it->second, joined_device(values, it->second, device));
  }
  std::vector<ValueId> modes;
  std::ranges::set_union(mine.modes, theirs.modes, std::back_inserter(modes));
  set(mine.modes, modes);
  if (mine.groups != theirs.groups) set(mine.groups, std::optional<std::uint32_t>());
  if (!mine.groups) {
    set(mine.held_back, std::vector<Pending>());
    set(mine.held_streams, std::map<ValueId, OpIndex>());
    return;
  }
  set(mine.held_back, joined(sets, mine.held_back, theirs.held_back, back_edge));
  for (const auto& [stream, op] : theirs.held_streams)
    changed = mine.held_streams.try_emplace(stream, op).second || changed;
}

void OrderStep::made() {
  // The op runs again: its last handle becomes an older one, but both are kept under the op.
  HostThread& t = order_.thread_;
  const auto [it, added] = t.made_on.try_emplace(index_, t.device);
  if (!added) it->second = joined_device(values_, it->second, t.device);
}

void OrderStep::set_device() {
  const ValueId before = order_.thread_.device, now = values_.version(index_);
  order_.thread_.device = now;
  if (one_device(values_, before, now)) return;
  for (ValueId of_the_device : {kUnknown, kLegacy, kPerThread}) order_.quiet_.erase(of_the_device);
}

void OrderStep::swap_capture_mode() {
  std::vector<ValueId>& modes = order_.thread_.modes;
  ValueId variable = store_.evaluate(values_, op_.source);
  if (!values_.precise(variable)) variable = kUnknown;
  const auto at = std::ranges::lower_bound(modes, variable);
  const bool known = at != modes.end() && *at == variable;
  if (!known) {
    modes.insert(at, variable);
  } else if (variable != kUnknown) {
    modes.erase(at);
  }
}

void OrderStep::group_begin() {
  if (order_.thread_.groups) ++*order_.thread_.groups;
}

void OrderStep::group_end() {
  std::optional<std::uint32_t>& groups = order_.thread_.groups;
  if (groups == 1U) return release();
  // The group did not begin here, so the calls that it holds back were not seen either.
  groups = groups && *groups > 0 ? *groups - 1 : 0;
}

void OrderStep::hold_back(ValueId stream) {
  HostThread& t = order_.thread_;
  if (!t.groups || stream == kUnknown) {
    order_.strangers_ = true;
    return disturb(stream);
  }
  if (order_.capturing_ != Tri::No) return;
  t.held_streams[stream] = index_;
  for (std::uint16_t i = 0; i < op_.accesses.size(); ++i) {
    std::optional<Pending> added = touch(values_, store_, index_, i);
    if (!added) continue;
    added->stream = stream;
    added->must = added->may = sets_.one(stream_token(stream));
    streamsan::analyzer::insert(t.held_back, *added);
  }
}

void OrderStep::release() {
  HostThread& t = order_.thread_;
  t.groups = 0;
  const std::vector<Pending> held_back = std::exchange(t.held_back, {});
  const std::map<ValueId, OpIndex> streams = std::exchange(t.held_streams, {});
  if (order_.capturing_ != Tri::No) return;
  for (const auto& [stream, op] : streams) {
    disturb(stream);
    barrier(stream);
    order_.busy_[stream] = op;
  }
  for (const Pending& p : held_back) insert(p);
}

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An event belongs to the device that was current when it was created, and can be recorded in streams of that device
// only. Elsewhere the record fails, and a wait for the event waits for nothing.
//
// Order (order_thread.cpp) finds the devices of handles that it can follow, by the constants given to cudaSetDevice.
// This file is about handles in lists, pools and structures, which cannot be followed one by one. But all events that a
// structure keeps in one member are created at the places that create that member, and so are its streams. So the
// devices of a member are those that are current where it is created:
//
//   fixed     one device for all: a number, or the device that was current when the function was entered
//   several   the counter of a loop is the device's number (`for d: cudaSetDevice(d); cudaStreamCreate(&part.stream)`),
//             or the places have different numbers
//
// A record of an event of a fixed device in a stream of several devices fails for all but at most one of them. Not if
// the stream is named more closely: `streams[0]` belongs to device 0 if streams[d] was made on device d, and a
// variable's own stream belongs to the device that was current where that variable's stream was created.
//
// If the function gets no objects from outside, it created all its handles. Then a handle that is in no member, or
// comes out of a list of handles, belongs to a fixed device if all of them do.
//
// The current device is followed through the blocks. It is unknown at joins and behind unknown code, unless no device
// was ever set. Numbers are followed through variables that are stored once, as those of callees are.
//
// Errs to silence: nothing is reported if a handle is created anywhere else, out of sight or in another way. It may
// report too much if a condition picks the streams of the event's own device, because conditions are not read. So a
// finding that depends on "several" is likely, not definite.
#include "analyzer/analysis/wrong_devices.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::PlaceId;

constexpr unsigned kDeepest = 12;  ///< number of variables that a number or a handle is followed through

struct Device {
  enum class Kind : std::uint8_t { Unreached, Entry, Number, Counted, Unknown };
  Kind kind = Kind::Unreached;
  std::int64_t number = 0;
  PlaceId counter = ir::kNoPlace;  ///< Counted
  [[nodiscard]] bool fixed() const { return kind == Kind::Entry || kind == Kind::Number; }
  friend bool operator==(const Device&, const Device&) = default;
};

Device joined(const Device& a, const Device& b) {
  if (a.kind == Device::Kind::Unreached || a == b) return b;
  return b.kind == Device::Kind::Unreached ? a : Device{.kind = Device::Kind::Unknown};
}

struct Creation {
  const Op* op = nullptr;
  Device device;
  bool in_loop = false;
};

/// The devices of some handles, as far as they are known.
struct Devices {
  std::vector<const Creation*> made;
  bool several = false;
  Device one;  ///< the device, if it is one
  [[nodiscard]] bool fixed() const { return !several && one.fixed(); }
};

class Records {
 public:
  Records(const ir::Function& function, const ir::Program& program) : function_(function), program_(program) {}

  std::vector<Hazard> find() {
    if (!is_asked()) return {};
    note_stores();
    follow_devices();
    for (const ir::Block& block : function_.blocks)
      for (const Op& op : block.ops)
        if (op.kind == OpKind::Record && op.event.kind == Operand::Kind::Value &&
            op.stream.kind == Operand::Kind::Value)
          look_at(op);
    return std::move(hazards_);
  }

 private:
  struct Stores {
    const Op* only = nullptr;
    std::uint32_t count = 0;
    bool counts = false;  ///< one of them adds to the value of the place
  };

  [[nodiscard]] bool is_asked() const {
    bool sets = false, creates = false, records = false;
    for (const ir::Block& block : function_.blocks)
      for (const Op& op : block.ops) {
        sets |= op.kind == OpKind::SetDevice;
        creates |= op.kind == OpKind::CreateEvent;
        records |= op.kind == OpKind::Record;
      }
    return sets && creates && records;
  }

  void note_stores() {
    stores_.resize(function_.places.size());
    for (const ir::Block& block : function_.blocks)
      for (const Op& op : block.ops) {
        if (op.target == ir::kNoPlace) continue;
        Stores& stores = stores_[ir::at(op.target)];
        stores.only = stores.count++ == 0 ? &op : nullptr;
        if (op.kind != OpKind::Assign || op.source.kind != Operand::Kind::Number) continue;
        const ir::Expr& value = function_[op.source.offset];
        stores.counts |=
            value.uses.size() == 1 && value.uses[0] == op.target && value.text.find('+') != value.text.npos;
      }
  }

  /// The value of the integer, as the number of a device.
  [[nodiscard]] Device number(ir::ExprId id, unsigned deep = 0) const {
    const ir::Expr& expr = function_[id];
    if (expr.constant) return {.kind = Device::Kind::Number, .number = *expr.constant};
    Device held{.kind = Device::Kind::Unknown};
    for (const PlaceId use : expr.uses) {
      held = number_in(use, deep + (expr.uses.size() == 1 ? 1 : kDeepest / 3));
      if (held.kind == Device::Kind::Counted) return held;  // what is computed of it differs from round to round, too
    }
    const bool computed = expr.text.find(' ') != expr.text.npos || expr.text.find_first_of("-!~") == 0;
    return expr.uses.size() == 1 && !computed ? held : Device{.kind = Device::Kind::Unknown};
  }

  [[nodiscard]] Device number_in(PlaceId place, unsigned deep) const {
    if (deep > kDeepest) return {.kind = Device::Kind::Unknown};
    const Stores& stores = stores_[ir::at(place)];
    if (stores.counts) return {.kind = Device::Kind::Counted, .number = 0, .counter = place};
    if (stores.count == 1 && stores.only->kind == OpKind::Assign) {
      const Operand& source = stores.only->source;
      if (source.kind == Operand::Kind::Number) return number(source.offset, deep);
      if (source.kind == Operand::Kind::Value && source.offset == ir::kNoExpr) return number_in(source.place, deep + 1);
    }
    // The current element of a loop: each has its own.
    for (PlaceId at = place; stores.count == 0 && at != ir::kNoPlace; at = function_[at].base)
      if (function_[at].kind == Place::Kind::Index)
        if (const Device index = number(function_[at].index, deep + 1); index.kind == Device::Kind::Counted)
          return index;
    return {.kind = Device::Kind::Unknown};
  }

  [[nodiscard]] Device after(const Op& op, const Device& before) const {
    if (op.kind == OpKind::SetDevice)
      return op.source.kind == Operand::Kind::Number ? number(op.source.offset) : Device{.kind = Device::Kind::Unknown};
    // As in order_thread.cpp: a function that sets no device does not expect that others do.
    const bool anything = op.kind == OpKind::MaySync || op.kind == OpKind::Call;
    return anything && before.kind != Device::Kind::Entry ? Device{.kind = Device::Kind::Unknown} : before;
  }

  void follow_devices() {
    std::vector<Device> entry(function_.blocks.size());
    entry[0] = {.kind = Device::Kind::Entry};
    std::vector<std::size_t> work{0};
    while (!work.empty()) {
      const std::size_t block = work.back();
      work.pop_back();
      Device device = entry[block];
      for (const Op& op : function_.blocks[block].ops) device = after(op, device);
      for (const ir::BlockId next : function_.blocks[block].successors) {
        const Device both = joined(entry[ir::at(next)], device);
        if (both == entry[ir::at(next)]) continue;
        entry[ir::at(next)] = both;
        work.push_back(ir::at(next));
      }
    }
    const std::vector<bool> loops = ir::blocks_in_loops(function_);
    for (std::size_t block = 0; block < function_.blocks.size(); ++block) {
      Device device = entry[block];
      if (device.kind == Device::Kind::Unreached) continue;
      for (const Op& op : function_.blocks[block].ops) {
        device = after(op, device);
        if (op.kind == OpKind::CreateEvent) events_.push_back({&op, device, loops[block]});
        if (op.kind == OpKind::CreateStream) streams_.push_back({&op, device, loops[block]});
      }
    }
  }

  /// The place that the handle comes from, through parameters and other variables that are stored once.
  [[nodiscard]] PlaceId source_of(PlaceId place) const {
    for (unsigned deep = 0; deep < kDeepest; ++deep) {
      const Stores& stores = stores_[ir::at(place)];
      const bool copied = stores.count == 1 && stores.only->kind == OpKind::Assign &&
                          function_[place].base == ir::kNoPlace && stores.only->source.kind == Operand::Kind::Value &&
                          stores.only->source.offset == ir::kNoExpr;
      if (!copied) break;
      place = stores.only->source.place;
    }
    return place;
  }

  /// Only a call of the API says when the handle is created; of a library's object that is not known.
  [[nodiscard]] bool is_plain(const Creation& creation) const {
    return creation.op->site != ir::kNoSite && function_[creation.op->site].api != ir::Api::None;
  }

  /// All stores to the member, or to elements of it, create it, clear it or copy it.
  [[nodiscard]] bool only_created(const std::string& key, OpKind by) const {
    for (const ir::Block& block : function_.blocks)
      for (const Op& op : block.ops) {
        if (op.target == ir::kNoPlace || op.kind == by || ir::field_key(function_, op.target) != key) continue;
        const bool harmless =
            op.kind == OpKind::Assign &&
            (op.source.kind == Operand::Kind::Null ||
             (op.source.kind == Operand::Kind::Value && ir::field_key(function_, op.source.place) == key));
        if (!harmless) return false;
      }
    return true;
  }

  /// The program creates the member only at places that are part of this function.
  [[nodiscard]] bool all_in_sight(const std::string& key, OpKind by) const {
    std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> here;
    for (const Creation& creation : by == OpKind::CreateEvent ? events_ : streams_) {
      const ir::Site& site = function_[creation.op->site];
      here.emplace(site.file, site.line, site.column);
    }
    for (const auto& [usr, other] : program_.functions)
      for (const ir::Block& block : other.blocks)
        for (const Op& op : block.ops) {
          if (op.kind != by || op.target == ir::kNoPlace || ir::field_key(other, op.target) != key) continue;
          const ir::Site site = op.site == ir::kNoSite ? ir::Site{} : other[op.site];
          if (!here.contains({site.file, site.line, site.column})) return false;
        }
    return true;
  }

  [[nodiscard]] bool gets_objects() const {
    return !function_.parameters.empty() || std::ranges::any_of(function_.places, [](const Place& place) {
      return place.kind == Place::Kind::This || place.kind == Place::Kind::Global;
    });
  }

  static void add(Devices& devices, const Creation& creation) {
    if (creation.device.kind == Device::Kind::Counted && creation.in_loop) devices.several = true;
    const Device& one = creation.device;
    if (!devices.made.empty() && devices.one != one) {
      const bool numbers = devices.one.kind == Device::Kind::Number && one.kind == Device::Kind::Number;
      devices.several |= numbers;
      devices.one = {.kind = Device::Kind::Unknown};
    } else {
      devices.one = one;
    }
    devices.made.push_back(&creation);
  }

  /// An element is named by an unknown number, which may pick the right one.
  [[nodiscard]] bool is_picked(PlaceId place) const {
    for (; place != ir::kNoPlace; place = function_[place].base)
      if (function_[place].kind == Place::Kind::Index && number(function_[place].index).kind == Device::Kind::Unknown)
        return true;
    return false;
  }

  /// A constant that the handle's element is named by.
  [[nodiscard]] std::optional<std::int64_t> element(PlaceId place) const {
    for (; place != ir::kNoPlace; place = function_[place].base)
      if (function_[place].kind == Place::Kind::Index)
        if (const Device index = number(function_[place].index); index.kind == Device::Kind::Number)
          return index.number;
    return std::nullopt;
  }

  [[nodiscard]] Devices devices_of(PlaceId handle, OpKind by) const {
    const std::vector<Creation>& all = by == OpKind::CreateEvent ? events_ : streams_;
    Devices exact;
    for (const Creation& creation : all)
      if (creation.op->target == handle) add(exact, creation);
    const bool varies = std::ranges::any_of(exact.made, &Creation::in_loop);
    if (exact.made.size() == 1 && is_plain(*exact.made[0]) && !varies) return exact;

    const std::string key = ir::field_key(function_, handle);
    if (!key.empty() && only_created(key, by)) {
      Devices of_member;
      for (const Creation& creation : all)
        if (ir::field_key(function_, creation.op->target) == key) {
          if (!is_plain(creation)) return {};
          add(of_member, creation);
        }
      if (of_member.made.empty() || !all_in_sight(key, by)) return {};
      const std::optional<std::int64_t> index = element(handle);
      if (!index || !of_member.several) return of_member;
      // One element: of the device that its number says, if that was so when it was created.
      const Creation& made = *of_member.made[0];
      const PlaceId slot = made.op->target;
      const bool by_number = of_member.made.size() == 1 && function_[slot].kind == Place::Kind::Index &&
                             number(function_[slot].index) == made.device;
      return by_number ? Devices{.made = of_member.made, .one = {.kind = Device::Kind::Number, .number = *index}}
                       : Devices{};
    }
    if (gets_objects() || element(handle)) return {};
    Devices any;
    for (const Creation& creation : all) {
      if (!is_plain(creation)) return {};
      add(any, creation);
    }
    return any;
  }

  void look_at(const Op& op) {
    const PlaceId event = source_of(op.event.place), stream = source_of(op.stream.place);
    const Devices its = devices_of(event, OpKind::CreateEvent);
    if (!its.fixed()) return;
    const Devices of_stream = devices_of(stream, OpKind::CreateStream);
    if (of_stream.several && is_picked(stream)) return;
    const bool numbers = its.one.kind == Device::Kind::Number && of_stream.one.kind == Device::Kind::Number;
    const bool other = !of_stream.several && numbers && its.one.number != of_stream.one.number;
    if (!other && !of_stream.several) return;

    Hazard& hazard = hazards_.emplace_back();
    hazard.check = Check::EventWaitWithoutRecord;
    hazard.level = Level::Likely;
    hazard.which = CheckCase::FailingRecord;
    hazard.cause = Cause::NeverRecorded;
    hazard.function = function_.name;
    hazard.usr = function_.usr;
    hazard.later.where = where(function_, op.site);
    hazard.later.what = name_of(function_, op);
    hazard.later.stream.name = function_.spell(stream);
    hazard.event.name = function_.spell(event);
    hazard.event.origin = where(function_, its.made.front()->op->site);
    const Creation& made = *of_stream.made.front();
    const std::string on = !of_stream.several ? "device " + std::to_string(of_stream.one.number)
                           : made.device.kind == Device::Kind::Counted ? "one device after the other"
                                                                       : "several devices";
    const std::string of_event =
        its.one.kind == Device::Kind::Number ? "device " + std::to_string(its.one.number) : "one device";
    hazard.detail = "the event is created on " + of_event + ", the stream on " + on;
    hazard.evidence.push_back({"the stream is created here", where(function_, made.op->site)});
  }

  const ir::Function& function_;
  const ir::Program& program_;
  std::vector<Stores> stores_;  ///< by place
  std::vector<Creation> events_, streams_;
  std::vector<Hazard> hazards_;
};

}  // namespace

std::vector<Hazard> records_on_wrong_devices(const ir::Function& closed, const ir::Program& program) {
  return Records(closed, program).find();
}

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each place holds at one point of the function: the first half of the analysis's state.
//
// A location that was assigned holds a value. A location that was not holds its Content: an unnamed value that stays
// the same until something may have written there. The op that last may have written there is the stamp of the
// location: it stored into the array with another index, or gave the object away. Stamps are kept in the same map, at
// locations of kind Stamp, so that joining and aging need no second copy of the code. An array has two stamps: one
// changes with every store (for `a[i]`), one only with stores at indices that are not constants (for `a[0]`).
//
// For the function's own arrays, the ops that made the elements are kept (makers): the element read by `streams[i]` is
// one of the streams that the loop above created. That shows its kind, and from which streams it differs.
//
// At a join, a location with different values gets a new name, a Merge, with the block of the join. A local that is not
// set on one of the paths has the value of the other path: reading it on the first one would be undefined. The same is
// done for a pointer that is null on one of the paths: nothing is reached through it there, and freeing it does
// nothing.
//
// Assumption: two pointers that are not known to be related point to different memory. There is one exception: a class
// may keep a reference to an object that a function is also given, so one object has two names. When a handle or
// pointer is stored into a field of an object from outside, that field of every other such object may have changed as
// well.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "analyzer/analysis/sorted_map.h"
#include "analyzer/analysis/values.h"

namespace streamsan::analyzer {

class Ends;
class LastUses;

class Store {
 public:
  LocationId locate(Values& values, ir::PlaceId place) const;
  ValueId load(Values& values, LocationId location) const;
  ValueId load(Values& values, ir::PlaceId place) const { return load(values, locate(values, place)); }
  /// The offset of a pointer operand is part of the value (Value::Kind::Shifted).
  ValueId evaluate(Values& values, const ir::Operand& operand) const;
  /// As evaluate(), for a stream: a null handle is the default stream.
  ValueId stream(Values& values, const ir::Operand& operand) const;
  KeyId key(Values& values, ir::ExprId expr) const;
  /// One key for all scalars that a kernel is given.
  KeyId key(Values& values, const std::vector<ir::Operand>& scalars) const;

  /// All values that code can reach through this operand: its value, and everything in the object that it points to.
  struct Reached {
    ValueId value;
    ir::TypeKind type;
  };
  std::vector<Reached> reach(Values& values, const ir::Operand& operand) const;

  /// Puts a value that is known without a write, for instance from a branch.
  void learn(Values& values, ir::PlaceId place, ValueId value);
  void apply(Values& values, OpIndex index);
  void age(Values& values, const Aging& aging);
  /// The state at the start of `block`, made from the states at the ends of the blocks before it. Values that are not
  /// used any more are left out. `sticky`: locations that are merged in `before` stay merged, so that the analysis
  /// ends.
  static Store join(Values& values, std::uint32_t block, const Ends& ends, const LastUses& uses, const Store& before,
                    bool sticky);
  /// The locations that are merged at `block`, with their values. This is the state at the start of `block`.
  using Merges = std::vector<std::pair<LocationId, ValueId>>;
  [[nodiscard]] Merges merges(const Values& values, std::uint32_t block) const;
  /// The locations of `merges` that hold another value in this state, which is that of the end of a block before it.
  [[nodiscard]] std::vector<LocationId> changed(const Merges& merges) const;

  /// The number of locations that hold a value.
  [[nodiscard]] std::size_t size() const { return held_.size(); }

  friend bool operator==(const Store&, const Store&) = default;

 private:
  [[nodiscard]] ValueId since(Values& values, LocationId location) const;
  void put(Values& values, LocationId location, ValueId value, OpIndex op);
  void forget(Values& values, LocationId location, OpIndex op);
  void erase_overlapping(Values& values, LocationId location);
  void copy(Values& values, ir::PlaceId target, LocationId source, OpIndex op);
  /// Copies the parts of an object that have values, above all elements at variable indices.
  void copy_elements(Values& values, LocationId target, LocationId source, OpIndex op);

  using Held = SortedMap<LocationId, ValueId>;
  Held held_;
  SortedMap<LocationId, MakersId> makers_;  ///< by starred location of local arrays
};

/// The states at the ends of the blocks before a block. A state is copied when it is changed.
class Ends {
 public:
  void add(const Store& end) { ends_.push_back({.given = &end, .changed = {}}); }
  Store& change(std::size_t end) {
    End& here = ends_[end];
    if (!here.changed) here.changed = *here.given;
    return *here.changed;
  }
  [[nodiscard]] const Store& operator[](std::size_t end) const {
    const End& here = ends_[end];
    return here.changed ? *here.changed : *here.given;
  }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }

 private:
  struct End {
    const Store* given;
    std::optional<Store> changed;
  };
  std::vector<End> ends_;
};

}  // namespace streamsan::analyzer

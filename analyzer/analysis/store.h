// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each place holds at one point of the function: the first half of the analysis's state.
//
// A location that was assigned holds a value. One that was not holds its Content: an unnamed value that stays the same
// until something may have written there. When that last was is its stamp: an op that stored into the array with
// another index, or gave the object away. Stamps are kept in the same map, at locations of kind Stamp, so that joining
// and aging need no second copy of the code. Of an array there are two: one moves with every store (for `a[i]`), one
// only with stores at indices that are not constants (for `a[0]`).
//
// For arrays of the function's own, the ops that made the elements are remembered together (makers): the element read
// by `streams[i]` is one of the streams that the loop above created, which tells its kind and what it cannot be.
//
// At a join, a location with different values gets a new name, Merge, that says where. A local that is not set on one
// of the paths has the value of the other: reading it on the first would be undefined. A pointer that is null on one of
// the paths likewise: nothing is reached through it there, and freeing it does nothing.
//
// Assumed: memory behind two pointers that are not known to be related is not one. But a class that keeps a reference
// to an object, and a function that is given the same one, have two names for it: where a handle or pointer is stored
// into a field of what came from outside, the same field of every other such object holds something else from then on.
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
  /// The same; a null handle is the default stream.
  ValueId stream(Values& values, const ir::Operand& operand) const;
  KeyId key(Values& values, ir::ExprId expr) const;
  /// One name for all scalars that a kernel is given.
  KeyId key(Values& values, const std::vector<ir::Operand>& scalars) const;

  /// All values that code with this operand can reach: the value, and all in the object it leads to.
  struct Reached {
    ValueId value;
    ir::TypeKind type;
  };
  std::vector<Reached> reach(Values& values, const ir::Operand& operand) const;

  /// It is known by other means to hold this; nothing was written.
  void learn(Values& values, ir::PlaceId place, ValueId value);
  void apply(Values& values, OpIndex index);
  void age(Values& values, const Aging& aging);
  /// What holds at the start of `block` when the blocks before it end in `ends`, without what is of no use from there
  /// on. `sticky`: what was merged in `before` stays so, which makes the analysis end.
  static Store join(Values& values, std::uint32_t block, const Ends& ends, const LastUses& uses, const Store& before,
                    bool sticky);
  /// The locations merged at `block`, at the start of which this holds, and what they hold.
  using Merges = std::vector<std::pair<LocationId, ValueId>>;
  [[nodiscard]] Merges merges(const Values& values, std::uint32_t block) const;
  /// The locations of `merges` that hold something else here, at the end of a block before it.
  [[nodiscard]] std::vector<LocationId> changed(const Merges& merges) const;

  /// How much there is to walk through.
  [[nodiscard]] std::size_t size() const { return held_.size(); }

  friend bool operator==(const Store&, const Store&) = default;

 private:
  [[nodiscard]] ValueId since(Values& values, LocationId location) const;
  void put(Values& values, LocationId location, ValueId value, OpIndex op);
  void forget(Values& values, LocationId location, OpIndex op);
  void erase_overlapping(Values& values, LocationId location);
  void copy(Values& values, ir::PlaceId target, LocationId source, OpIndex op);
  /// What else is held in it, above all in elements at indices that variables say.
  void copy_elements(Values& values, LocationId target, LocationId source, OpIndex op);

  using Held = SortedMap<LocationId, ValueId>;
  Held held_;
  SortedMap<LocationId, MakersId> makers_;  ///< by starred location of local arrays
};

/// The states in which the blocks before one end. A state that is changed on the way is copied.
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

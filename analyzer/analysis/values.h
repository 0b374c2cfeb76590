// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values that places hold: handles, pointers and versions of integers, as names that can be compared.
//
// A value is named by how it came to be: the op that made it, the place whose content it is, the place it points to.
// Names are interned, so equal names have equal ids. A name is not one concrete value in general: an op in a loop makes
// many. Each op therefore has two names for what it makes: the last one made (`older` false) and all those made before.
// When the op runs again, what was the last one becomes an older one, everywhere in the state at once (aged()). The
// same holds for the versions of integers, and so for `bufs[i]`: an index is part of the name of a location, its key
// holds the version of `i`, and when `i` gets a new one the buffer of the previous iteration is called otherwise.
//
// Two questions are asked of names, and neither is the negation of the other:
//   must_equal           both are the same concrete value: equal ids, and the name means one value only (precise)
//   certainly_different  no concrete value has both names
// Between them lies "not known", and nothing that depends on it is reported as definite.
//
// What certainly differs: objects made by different ops, or by one op at different times; an object made here and the
// content of a parameter, field or global at entry; the default streams and whatever was created; two fields that own
// their handles; two elements of one array at different constant indices; `streams[i]` of two iterations of one `for`
// loop that counts `i`, if all elements were created in place. Two parameters are not known to differ.
//
// Lost: arithmetic of indices (`i + 1` after `i` is another key, not the next one), and what a value merged at a join
// consisted of. Both make the answers "not known". Offsets into memory are compared by overlap.h.
//
// values.cpp makes and ages names, value_compare.cpp compares them, value_facts.cpp says what is known of what they
// name.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

enum class ValueId : std::uint32_t {};
enum class LocationId : std::uint32_t {};
enum class KeyId : std::uint32_t {};
enum class MakersId : std::uint32_t {};

/// Number of an op in the function: block after block.
using OpIndex = std::uint32_t;
inline constexpr OpIndex kNoOp = UINT32_MAX;

inline constexpr ValueId kUnknown{0};     ///< equal to nothing, not even to itself
inline constexpr ValueId kNull{1};        ///< nullptr
inline constexpr ValueId kLegacy{2};      ///< the legacy default stream
inline constexpr ValueId kPerThread{3};   ///< the per-thread default stream
inline constexpr LocationId kNowhere{0};  ///< a location that could not be named
inline constexpr KeyId kWhole{0};         ///< no index, no offset
inline constexpr KeyId kSomewhere{1};     ///< an index that could not be named
inline constexpr MakersId kNoMakers{0};   ///< not known who made it

/// The name of an index, an offset or a size: text with the values of the variables in it.
struct Key {
  std::string text;  ///< used variables are written $0, $1
  std::vector<ValueId> values;
  std::optional<std::int64_t> constant;
  bool precise = true;
  std::uint32_t unit = 0;  ///< bytes of a step, as in ir::Expr; a constant number of known steps is one of bytes
  friend std::strong_ordering operator<=>(const Key&, const Key&) = default;
};

struct Location {
  enum class Kind : std::uint8_t { Nowhere, Root, Field, Index, Target, Stamp };
  Kind kind = Kind::Nowhere;
  ir::PlaceId root = ir::kNoPlace;  ///< Root
  std::string field;                ///< Field: "Class::name"
  LocationId base = kNowhere;       ///< Field, Index, Stamp
  KeyId key = kWhole;               ///< Index; Stamp: kWhole or kSomewhere, see store.h
  ValueId pointer = kUnknown;       ///< Target: of which pointer
  friend std::strong_ordering operator<=>(const Location&, const Location&) = default;
};

struct Value {
  enum class Kind : std::uint8_t {
    Unknown,
    Null,
    Legacy,
    PerThread,
    Object,   ///< made by op `site`: a stream, event, allocation
    Version,  ///< an unnamed value that op `site` stored
    Content,  ///< what `location` holds since `since` (kUnknown: since the function was entered)
    Address,  ///< of `location`
    Merge,    ///< of different values, at the start of block `site`, in `location`
    Shifted,  ///< pointer `since` plus `key` steps
  };
  Kind kind = Kind::Unknown;
  std::uint32_t site = 0;
  bool older = false;
  LocationId location = kNowhere;
  ValueId since = kUnknown;
  KeyId key = kWhole;
  MakersId makers = kNoMakers;  ///< Content: the ops of which one created it
  friend std::strong_ordering operator<=>(const Value&, const Value&) = default;
};

/// What becomes older: what op `op` made, or what was merged at block `block` in `locations`.
struct Aging {
  OpIndex op = kNoOp;
  std::uint32_t block = UINT32_MAX;
  std::vector<LocationId> locations;  ///< sorted
};

class Values {
 public:
  Values(const ir::Function& function, const ir::Program& program);

  [[nodiscard]] const ir::Function& function() const { return function_; }
  [[nodiscard]] const ir::Op& op(OpIndex index) const { return *ops_[index]; }
  [[nodiscard]] OpIndex first_op(std::uint32_t block) const { return first_op_[block]; }
  [[nodiscard]] OpIndex op_count() const { return static_cast<OpIndex>(ops_.size()); }

  ValueId value(const Value& value);
  ValueId object(OpIndex op) { return value({.kind = Value::Kind::Object, .site = op}); }
  ValueId version(OpIndex op) { return value({.kind = Value::Kind::Version, .site = op}); }
  ValueId address(LocationId location);
  ValueId merge(std::uint32_t block, LocationId location);
  ValueId shifted(ValueId pointer, KeyId offset);
  ValueId content(LocationId location, ValueId since, MakersId makers);
  LocationId location(const Location& location);
  LocationId root(ir::PlaceId place, ir::PlaceId seen);
  LocationId field(LocationId base, const ir::Place& place, ir::PlaceId seen);
  LocationId element(LocationId base, KeyId key, ir::PlaceId seen);
  LocationId target(ValueId pointer, ir::PlaceId seen);
  KeyId key(Key key);
  KeyId sum(KeyId a, KeyId b);
  MakersId makers(std::vector<OpIndex> ops);
  MakersId join(MakersId a, MakersId b);

  [[nodiscard]] const Value& operator[](ValueId id) const { return values_[static_cast<std::size_t>(id)].first; }
  [[nodiscard]] const Location& operator[](LocationId id) const {
    return locations_[static_cast<std::size_t>(id)].first;
  }
  [[nodiscard]] const Key& operator[](KeyId id) const { return keys_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const std::vector<OpIndex>& operator[](MakersId id) const {
    return makers_[static_cast<std::size_t>(id)];
  }
  /// Integer variables of this name; after inlining there may be many.
  [[nodiscard]] const std::vector<ir::PlaceId>& integers(const std::string& name) const {
    static const std::vector<ir::PlaceId> kNone;
    const auto it = integers_.find(name);
    return it == integers_.end() ? kNone : it->second;
  }
  /// The places whose base is `place`.
  [[nodiscard]] const std::vector<ir::PlaceId>& parts(ir::PlaceId place) const {
    return parts_[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] bool precise(ValueId id) const { return values_[static_cast<std::size_t>(id)].second; }
  [[nodiscard]] bool precise(LocationId id) const { return locations_[static_cast<std::size_t>(id)].second; }
  [[nodiscard]] bool precise(KeyId id) const { return (*this)[id].precise; }
  /// A place that was written for this location, for messages; kNoPlace: none.
  [[nodiscard]] ir::PlaceId seen(LocationId id) const { return seen_[static_cast<std::size_t>(id)]; }

  /// The same location with every index replaced by kSomewhere.
  LocationId starred(LocationId id);
  /// True if all indices on the way are constants.
  [[nodiscard]] bool constant_path(LocationId id) const;
  /// A local variable or temporary of the function, or inside of one.
  [[nodiscard]] bool local(LocationId id) const;
  [[nodiscard]] bool inside(LocationId inner, LocationId outer) const;
  /// Two locations that may be one: equal but for indices that are not certainly different.
  [[nodiscard]] bool may_overlap(LocationId a, LocationId b) const;

  [[nodiscard]] bool must_equal(ValueId a, ValueId b) const { return a == b && precise(a); }
  [[nodiscard]] bool certainly_different(ValueId a, ValueId b) const;
  [[nodiscard]] bool may_equal(ValueId a, ValueId b) const { return !certainly_different(a, b); }

  /// True if op `op` has made anything yet; there is nothing to age if not.
  [[nodiscard]] bool minted(OpIndex op) const { return minted_[op]; }
  ValueId aged(ValueId id, const Aging& aging);
  LocationId aged(LocationId id, const Aging& aging);
  KeyId aged(KeyId id, const Aging& aging);
  /// Must be called before aged() with another Aging than last time.
  void start_aging() { aged_values_.clear(), aged_locations_.clear(); }

  [[nodiscard]] std::optional<ordering::StreamKind> stream_kind(ValueId stream) const;
  [[nodiscard]] std::optional<bool> timing(ValueId event) const;
  /// Of the block that a pointer points into.
  [[nodiscard]] std::optional<ordering::MemoryKind> memory_kind(ValueId memory) const;
  /// The one op that created it, where that is known.
  [[nodiscard]] OpIndex maker(ValueId id) const;

 private:
  [[nodiscard]] const ir::HandleField* handle_field(LocationId id) const;
  /// Two constants that are not the same index.
  [[nodiscard]] bool different(KeyId a, KeyId b) const;
  [[nodiscard]] bool different_slots(LocationId a, LocationId b) const;
  /// Elements of one array at what a loop counts, of two of its iterations.
  [[nodiscard]] bool different_iterations(const Value& left, const Value& right) const;
  /// Every element was stored by the call that created it, so no handle is in it twice.
  [[nodiscard]] bool created_in_place(MakersId makers) const;
  /// `place` takes a new value in each iteration of the loop with this head, and no value twice.
  [[nodiscard]] bool counts(std::uint32_t head, ir::PlaceId place) const;
  [[nodiscard]] std::vector<bool> reachable(std::uint32_t block) const;
  bool is_precise(const Value& value) const;
  bool is_precise(const Location& location) const;

  const ir::Function& function_;
  const ir::Program& program_;
  std::vector<const ir::Op*> ops_;
  std::vector<OpIndex> first_op_;
  std::vector<bool> minted_;
  std::vector<std::vector<ir::PlaceId>> parts_;
  std::unordered_map<std::string, std::vector<ir::PlaceId>> integers_;
  std::vector<std::pair<Value, bool>> values_;
  std::vector<std::pair<Location, bool>> locations_;
  std::vector<ir::PlaceId> seen_;
  std::vector<Key> keys_;
  std::vector<std::vector<OpIndex>> makers_;
  std::map<Value, ValueId> value_ids_;
  std::map<Location, LocationId> location_ids_;
  std::map<Key, KeyId> key_ids_;
  std::map<std::vector<OpIndex>, MakersId> makers_ids_;
  std::map<ValueId, ValueId> aged_values_;
  std::map<LocationId, LocationId> aged_locations_;
};

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values that places hold: handles, pointers and versions of integers, as names that can be compared.
//
// A value is named by how it came to be: the op that made it, the place whose content it is, the place it points to.
// Names are interned, so equal names have equal ids. A name is not one concrete value in general: an op in a loop makes
// many. Each op therefore has two names for its results: the last one made (`older` false) and all those made before.
// When the op runs again, what was the last one becomes an older one, everywhere in the state at once (aged()). The
// same holds for the versions of integers, and so for `bufs[i]`: an index is part of the name of a location, its key
// holds the version of `i`, and when `i` gets a new one the buffer of the previous iteration gets another name.
//
// There are two questions about two names, and neither is the negation of the other:
//   must_equal           both are the same concrete value: equal ids, and the name means one value only (precise)
//   certainly_different  no concrete value has both names
// If neither holds, the answer is "not known", and nothing that depends on it is reported as definite.
//
// These certainly differ:
//   * objects made by different ops, or by one op at different times;
//   * an object made here and the content of a parameter, field or global at entry;
//   * a default stream and a created one;
//   * two fields that own their handles;
//   * two elements of one array at different constant indices;
//   * `streams[i]` in two iterations of a `for` loop that counts `i`, if all elements were created in place.
// Two parameters are not known to differ.
//
// Two things are lost: arithmetic of indices (`i + 1` after `i` is another key, not the next one), and the values that
// a merged value was made of. Both make the answers "not known". Offsets into memory are compared by overlap.h.
//
// values.cpp makes and ages names, value_compare.cpp compares them, value_facts.cpp says what is known of the things
// that they name.
//
// Cost: names are compared, aged and looked up for every location at every op. So the facts about a name that never
// change are kept with it: whether it is precise, its variable, its relatives, and a filter of the ops and blocks that
// it mentions. The filter shows quickly that an op cannot age the name.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

enum class ValueId : std::uint32_t {};
enum class LocationId : std::uint32_t {};
enum class KeyId : std::uint32_t {};
enum class MakersId : std::uint32_t {};
enum class FieldId : std::uint32_t {};

/// Number of an op in the function: block after block.
using OpIndex = std::uint32_t;
inline constexpr OpIndex kNoOp = UINT32_MAX;

inline constexpr ValueId kUnknown{0};     ///< equal to nothing, not even to itself
inline constexpr ValueId kNull{1};        ///< nullptr
inline constexpr ValueId kLegacy{2};      ///< the legacy default stream of an unknown device
inline constexpr ValueId kPerThread{3};   ///< the per-thread default stream of an unknown device
inline constexpr LocationId kNowhere{0};  ///< a location that could not be named
inline constexpr KeyId kWhole{0};         ///< no index, no offset
inline constexpr KeyId kSomewhere{1};     ///< an index that could not be named
inline constexpr MakersId kNoMakers{0};   ///< the ops that made it are not known

/// The name of an index, an offset or a size: text with the values of the variables in it.
struct Key {
  std::string text;  ///< used variables are written $0, $1
  std::vector<ValueId> values;
  std::optional<std::int64_t> constant;
  bool precise = true;
  std::uint32_t unit = 0;  ///< bytes of one step, as in ir::Expr; a constant with a known step is converted to bytes
  friend std::strong_ordering operator<=>(const Key&, const Key&) = default;
};

struct Location {
  enum class Kind : std::uint8_t { Nowhere, Root, Field, Index, Target, Stamp, Alias };
  Kind kind = Kind::Nowhere;
  ir::PlaceId root = ir::kNoPlace;  ///< Root
  FieldId field{};                  ///< Field, Alias: "Class::name"
  LocationId base = kNowhere;       ///< Field, Index, Stamp; Alias: the top of the written location
  KeyId key = kWhole;               ///< Index; Stamp: kWhole or kSomewhere, see store.h
  ValueId pointer = kUnknown;       ///< Target: the pointer that points here
  friend bool operator==(const Location&, const Location&) = default;
};

struct Value {
  enum class Kind : std::uint8_t {
    Unknown,
    Null,
    Legacy,     ///< the default stream of device `key`; kWhole: of an unknown device
    PerThread,  ///< likewise
    Object,     ///< made by op `site`: a stream, event, allocation
    Version,    ///< an unnamed value that op `site` stored
    Content,    ///< what `location` holds since `since` (kUnknown: since the function was entered)
    Address,    ///< the address of `location`
    Merge,      ///< one of several values that `location` may have at the start of block `site`
    Shifted,    ///< pointer `since` plus `key` steps
    Constant,   ///< the integer `key`
    Computed,   ///< the value of expression `key`; equal if the same expression is computed from the same values
  };
  Kind kind = Kind::Unknown;
  std::uint32_t site = 0;
  bool older = false;
  LocationId location = kNowhere;
  ValueId since = kUnknown;
  KeyId key = kWhole;
  MakersId makers = kNoMakers;  ///< Content: one of these ops created it
  friend bool operator==(const Value&, const Value&) = default;
};

/// The names that become older: those of the results of `op`, or of the values merged in `locations` at `block`.
struct Aging {
  OpIndex op = kNoOp;
  std::uint32_t block = UINT32_MAX;
  std::vector<LocationId> locations;  ///< sorted
};

class Beliefs;

class Values {
 public:
  Values(const ir::Function& function, const ir::Program& program);

  [[nodiscard]] const ir::Function& function() const { return function_; }
  /// Some launch of the function may begin before the kernel in front of it ends.
  [[nodiscard]] bool launches_programmatically() const { return launches_programmatically_; }
  [[nodiscard]] const ir::Op& op(OpIndex index) const { return *ops_[index]; }
  /// The op came in with an inlined callee.
  [[nodiscard]] bool of_a_callee(OpIndex index) const {
    const ir::SiteId site = op(index).site;
    return site != ir::kNoSite && function_[site].call != ir::kNoSite;
  }
  /// The same number for all copies of one op (ir/paths.h).
  [[nodiscard]] std::uint32_t origin(OpIndex index) const {
    return op(index).origin == ir::Op::kNoOrigin ? index : op(index).origin;
  }
  [[nodiscard]] bool has_copies(OpIndex index) const { return op(index).origin != ir::Op::kNoOrigin; }
  [[nodiscard]] OpIndex first_op(std::uint32_t block) const { return first_op_[block]; }
  [[nodiscard]] OpIndex op_count() const { return static_cast<OpIndex>(ops_.size()); }

  ValueId value(const Value& value);
  ValueId object(OpIndex op) { return value({.kind = Value::Kind::Object, .site = op}); }
  ValueId version(OpIndex op) { return value({.kind = Value::Kind::Version, .site = op}); }
  ValueId address(LocationId location);
  ValueId merge(std::uint32_t block, LocationId location);
  ValueId shifted(ValueId pointer, KeyId offset);
  /// Absent: the key is no number.
  std::optional<ValueId> constant(KeyId number);
  /// kUnknown: the value of the key is not known, or too many computations are nested in it.
  ValueId computed(KeyId key);
  ValueId content(LocationId location, ValueId since, MakersId makers);
  /// `stream`: kLegacy or kPerThread; `device`: its number.
  ValueId default_stream_of(ValueId stream, const std::string& device);
  LocationId location(const Location& location);
  LocationId root(ir::PlaceId place, ir::PlaceId seen);
  /// `field`: a place of kind Field.
  LocationId field(LocationId base, ir::PlaceId field);
  LocationId element(LocationId base, KeyId key, ir::PlaceId seen);
  LocationId target(ValueId pointer, ir::PlaceId seen);
  /// Where the last store into `base` is noted, see store.h. `flavour`: kWhole or kSomewhere.
  LocationId stamp(LocationId base, KeyId flavour);
  /// Where it is noted that `field`, a location of kind Field, was stored to: it may be a field of another object, too.
  LocationId alias_stamp(LocationId field);
  /// All of them, of the same field of objects that may be the one that `field` is of.
  [[nodiscard]] std::vector<LocationId> alias_stamps(LocationId field) const;
  KeyId key(Key key);
  /// The name of an expression, the variables in it holding `values`.
  KeyId key(ir::ExprId expr, std::vector<ValueId> values);
  KeyId sum(KeyId a, KeyId b);
  MakersId makers(std::vector<OpIndex> ops);
  MakersId join(MakersId a, MakersId b);

  [[nodiscard]] const Value& operator[](ValueId id) const { return known(id).value; }
  [[nodiscard]] const Location& operator[](LocationId id) const { return known(id).location; }
  [[nodiscard]] const Key& operator[](KeyId id) const { return keys_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const std::vector<OpIndex>& operator[](MakersId id) const {
    return makers_[static_cast<std::size_t>(id)];
  }
  /// What it holds does not depend on the round of a loop: one op of the function stores into it, copies of the op
  /// aside, or none that is in a loop.
  [[nodiscard]] bool same_in_all_rounds(ir::PlaceId place) const {
    return writes_[static_cast<std::size_t>(place)] == 1 || !moves_[static_cast<std::size_t>(place)];
  }
  /// The places whose base is `place`.
  [[nodiscard]] const std::vector<ir::PlaceId>& parts(ir::PlaceId place) const {
    return parts_[static_cast<std::size_t>(place)];
  }
  /// Places of kind Index whose elements can be handles or memory, of the variable that `part` is a part of.
  [[nodiscard]] std::span<const ir::PlaceId> elements_beside(LocationId part) const;
  [[nodiscard]] bool precise(ValueId id) const { return known(id).precise; }
  [[nodiscard]] bool precise(LocationId id) const { return known(id).precise; }
  [[nodiscard]] bool precise(KeyId id) const { return (*this)[id].precise; }
  /// A place that was written for this location, for messages; kNoPlace: none.
  [[nodiscard]] ir::PlaceId seen(LocationId id) const { return known(id).seen; }
  /// The location that the object made by `op` was first stored in, for messages; kNowhere: not known.
  [[nodiscard]] LocationId home(OpIndex op) const { return homes_[op]; }
  void put_first(OpIndex op, LocationId location) {
    if (homes_[op] == kNowhere) homes_[op] = location;
  }

  /// The same location with every index replaced by kSomewhere.
  LocationId starred(LocationId id);
  /// True if all indices on the way are constants.
  [[nodiscard]] bool constant_path(LocationId id) const { return known(id).constant_path; }
  /// The start of the path. Two locations with different tops are not parts of one object.
  [[nodiscard]] LocationId top(LocationId id) const { return known(id).top; }
  /// The location is a local variable or temporary of the function, or lies inside one.
  [[nodiscard]] bool local(LocationId id) const { return known(known(id).top).local; }
  [[nodiscard]] bool inside(LocationId inner, LocationId outer) const;
  /// The part of `to` that corresponds to `part` of `from`; kNowhere: `part` is not reached by fields and elements
  /// alone.
  LocationId moved(LocationId part, LocationId from, LocationId to);
  /// The location is in an object that may have another name.
  [[nodiscard]] bool may_have_alias(LocationId id) const;
  /// The two may be one location: they are equal except for indices that do not certainly differ.
  [[nodiscard]] bool may_overlap(LocationId a, LocationId b) const;

  [[nodiscard]] bool is_legacy(ValueId stream) const { return (*this)[stream].kind == Value::Kind::Legacy; }
  [[nodiscard]] bool is_default_stream(ValueId stream) const {
    return is_legacy(stream) || (*this)[stream].kind == Value::Kind::PerThread;
  }
  /// The device of a default stream. nullptr: not known.
  [[nodiscard]] const std::string* default_stream_device(ValueId stream) const {
    const KeyId device = (*this)[stream].key;
    return is_default_stream(stream) && device != kWhole ? &(*this)[device].text : nullptr;
  }

  [[nodiscard]] bool must_equal(ValueId a, ValueId b) const { return a == b && precise(a); }
  /// Proved, or believed if the analysis runs under beliefs.
  [[nodiscard]] bool certainly_different(ValueId a, ValueId b) const;
  [[nodiscard]] bool proved_different(ValueId a, ValueId b) const;
  void believe(const Beliefs* beliefs) { beliefs_ = beliefs; }
  /// On: each piece of enqueued work leaves a mark (kWork).
  void mark_work(bool on) { marks_work_ = on; }
  [[nodiscard]] bool marks_work() const { return marks_work_; }
  [[nodiscard]] bool may_equal(ValueId a, ValueId b) const { return !certainly_different(a, b); }

  /// Is the block in a loop? Only there can a state name the results of a later op, so only there is aging needed.
  [[nodiscard]] bool in_loop(std::uint32_t block) const { return in_loop_[block]; }
  /// Has `op` made anything yet? If not, there is nothing to age.
  [[nodiscard]] bool minted(OpIndex op) const { return minted_[op]; }
  /// False: aged() does not change it. Holds for the current Aging, see start_aging().
  [[nodiscard]] bool may_age(ValueId id) const { return (known(id).mentions & ages_) != 0; }
  [[nodiscard]] bool may_age(LocationId id) const { return (known(id).mentions & ages_) != 0; }
  ValueId aged(ValueId id, const Aging& aging);
  LocationId aged(LocationId id, const Aging& aging);
  KeyId aged(KeyId id, const Aging& aging);
  /// Must be called before aged() is called with another Aging.
  void start_aging(const Aging& aging);

  [[nodiscard]] std::optional<ordering::StreamKind> stream_kind(ValueId stream) const;
  [[nodiscard]] std::optional<bool> timing(ValueId event) const;
  /// The kind of the block that a pointer points into.
  [[nodiscard]] std::optional<ordering::MemoryKind> memory_kind(ValueId memory) const;
  /// The memory that every store to the value's field puts there; nullptr: the value is from no field, or stores
  /// differ.
  [[nodiscard]] const ir::KeptMemory* kept_memory(ValueId memory) const;
  /// The facts about the field that holds the value; nullptr: no field holds it, or nothing is known.
  [[nodiscard]] const ir::HandleField* handle(ValueId id) const {
    return (*this)[id].location == kNowhere ? nullptr : handle_field((*this)[id].location);
  }
  /// "Class::field". The location has kind Field.
  [[nodiscard]] const std::string& field_name(LocationId id) const {
    return fields_[static_cast<std::size_t>((*this)[id].field)].name;
  }
  /// The value existed when the function was entered, so before anything was created here. The content behind a pointer
  /// counts only if the pointer itself came from outside: a pointer made here may point to a handle made here.
  [[nodiscard]] bool from_outside(ValueId id) const;
  /// The value is held in a place of type Stream.
  [[nodiscard]] bool is_stream(ValueId id) const {
    const LocationId at = (*this)[id].location;
    const ir::PlaceId place = at == kNowhere ? ir::kNoPlace : seen(at);
    return place != ir::kNoPlace && function_[place].type == ir::TypeKind::Stream;
  }
  /// The one op that created it; kNoOp: not known.
  [[nodiscard]] OpIndex maker(ValueId id) const;

 private:
  /// Stores the element for elements_beside().
  void note_element(ir::PlaceId element);
  [[nodiscard]] const ir::KeptMemory* kept_at(LocationId id) const;
  [[nodiscard]] const ir::HandleField* handle_field(LocationId id) const;
  /// Two constants that are not the same index.
  [[nodiscard]] bool different(KeyId a, KeyId b) const;
  [[nodiscard]] bool different_slots(LocationId a, LocationId b) const;
  /// The two are elements of one array at the counter of a loop, in two different iterations.
  [[nodiscard]] bool different_iterations(const Value& left, const Value& right) const;
  /// Every element was stored by the call that created it, so no handle is in it twice.
  [[nodiscard]] bool created_in_place(MakersId makers) const;
  /// `place` takes a new value in each iteration of the loop with this head, and no value twice.
  [[nodiscard]] bool counts(std::uint32_t head, ir::PlaceId place) const;
  [[nodiscard]] std::vector<bool> reachable(std::uint32_t block) const;
  bool is_precise(const Value& value) const;
  bool is_precise(const Location& location) const;

  /// The value of an expression whose variables all hold constants.
  [[nodiscard]] std::optional<std::int64_t> number_of(const std::string& text,
                                                      const std::vector<ValueId>& values) const;

  /// A set of ops and blocks (a Bloom filter): it may claim members that it does not have.
  using Filter = std::uint64_t;
  struct KnownValue {
    Value value;
    bool precise = false;
    Filter mentions = 0;
  };
  struct KnownLocation {
    Location location;
    bool precise = false;
    bool constant_path = true;
    bool local = false;  ///< only set for tops
    LocationId top = kNowhere;
    ir::PlaceId seen = ir::kNoPlace;
    std::optional<LocationId> starred;
    std::optional<LocationId> stamps[2]{};  ///< kWhole, kSomewhere
    Filter mentions = 0;
  };
  struct Field {
    std::string name;
    const ir::HandleField* handle = nullptr;
  };
  /// An expression in the form that keys use, and the keys made from it.
  struct NamedExpr {
    bool made = false;
    bool precise = false;
    std::string text;
    std::map<std::vector<ValueId>, KeyId> keys;
  };
  template <typename Id>
  struct Aged {
    std::uint32_t aging = 0;  ///< number of the aging
    Id id{};
  };
  struct Hash {
    std::size_t operator()(const Value& value) const;
    std::size_t operator()(const Location& location) const;
  };
  [[nodiscard]] const KnownValue& known(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const KnownLocation& known(LocationId id) const { return locations_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] KnownLocation& known(LocationId id) { return locations_[static_cast<std::size_t>(id)]; }
  static Filter filter(OpIndex op) { return Filter{1} << (op * 0x9e3779b1U >> 26U); }
  static Filter filter_of_block(std::uint32_t block) { return Filter{1} << (~block * 0x85ebca6bU >> 26U); }
  [[nodiscard]] Filter mentions(const Value& value) const;
  [[nodiscard]] Filter mentions(KeyId key) const { return key_mentions_[static_cast<std::size_t>(key)]; }

  bool launches_programmatically_ = false;
  const ir::Function& function_;
  const Beliefs* beliefs_ = nullptr;
  bool marks_work_ = false;
  std::vector<const ir::Op*> ops_;
  std::vector<OpIndex> first_op_;
  std::vector<bool> in_loop_;  ///< by block
  std::vector<bool> minted_;
  std::vector<std::vector<ir::PlaceId>> parts_;
  std::vector<std::uint8_t> writes_;                          ///< by place: no op, one, more
  std::vector<bool> moves_;                                   ///< by place: an op in a loop stores into it
  std::map<ir::PlaceId, std::vector<ir::PlaceId>> elements_;  ///< by the variable
  std::vector<KnownValue> values_;
  std::vector<KnownLocation> locations_;
  const std::map<std::string, ir::KeptMemory>& field_memory_;
  std::vector<Field> fields_;
  std::vector<FieldId> field_of_;  ///< by place
  std::map<FieldId, std::vector<LocationId>> alias_stamps_;
  std::vector<NamedExpr> exprs_;
  std::vector<LocationId> homes_;
  std::vector<Key> keys_;
  std::vector<Filter> key_mentions_;
  std::vector<std::vector<OpIndex>> makers_;
  std::unordered_map<Value, ValueId, Hash> value_ids_;
  std::unordered_map<Location, LocationId, Hash> location_ids_;
  std::map<Key, KeyId> key_ids_;
  std::map<std::vector<OpIndex>, MakersId> makers_ids_;
  std::vector<Aged<ValueId>> aged_values_;
  std::vector<Aged<LocationId>> aged_locations_;
  std::uint32_t agings_ = 0;
  Filter ages_ = 0;  ///< what the present aging ages
};

}  // namespace streamsan::analyzer

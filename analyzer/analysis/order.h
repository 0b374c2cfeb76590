// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accesses that may still be running at one point of the function, and what is ordered after each: the second half
// of the state. The first half is in store.h.
//
// Each access of each enqueued op is kept as Pending, with the set of tokens that come after it. A token is a stream
// (all that is enqueued there from now on), an event (all that waits for its present record) or the host (all that the
// host does or enqueues from now on). It is the sparse form of vector clocks: a clock's component exists only where an
// access is pending.
//
//   enqueue on S        the new access has {S}
//   record E on S       E leaves all sets, then joins those that cover S
//   wait of S for E     S joins the sets that contain E
//   synchronise S       the host joins the sets that cover S
//   synchronise E       the host joins the sets that contain E
//   the legacy stream   before it is used it joins the sets that contain a blocking stream; a set that contains it
//                       covers all blocking streams
//
// Every access has two such sets. `must` has the tokens that come after it on all paths, whatever the names stand for;
// `may` has those that come after it on some path. Joins intersect the one and unite the other. A token that is not in
// `may` is ordered on no path; one in `must` is ordered on all.
//
// An access that the host has waited for stays, as a tombstone, so that a join can distinguish "waited for" from "never
// happened". Its sets hold the host alone: which streams came after it is forgotten. The record of an event is an
// access as well (kEventRecord), so whether a stream comes after a record is asked in the same way. An access on one
// path only is kept: after the join it may have happened.
//
// A pending access whose memory has no precise name any more (values.h) cannot be compared with others and is dropped.
//
// The random test (tests/random_test.cpp) drives this and the definition of the order
// (ordering/tests/reference_model.h) with the same programs. Where the two differ on purpose is listed in
// tests/reference_differences.def.
//
// The state also has what the host thread has set and later calls depend on: the current device, the mode in which
// captures refuse calls, an open group of a library (order_thread.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/analysis/sets.h"
#include "analyzer/analysis/store.h"
#include "analyzer/analysis/values.h"
#include "ordering/copies.h"
#include "ordering/rules.h"

namespace streamsan::analyzer {

/// In sets of tokens: a stream, an event, the host.
inline constexpr std::uint32_t kHost = UINT32_MAX;
constexpr std::uint32_t stream_token(ValueId stream) { return static_cast<std::uint32_t>(stream) * 2; }
constexpr std::uint32_t event_token(ValueId event) { return static_cast<std::uint32_t>(event) * 2 + 1; }
/// Further tokens of a stream: for its programmatic launches as a whole, and for what they do after their wait for the
/// grid in front. Only functions that have such launches use them (order_dependents.cpp).
inline constexpr std::uint32_t kDependents = 1U << 31U;
constexpr std::uint32_t start_token(ValueId stream) { return kDependents | stream_token(stream); }
constexpr std::uint32_t waited_token(ValueId stream) { return kDependents | event_token(stream); }
constexpr bool is_event(std::uint32_t token) { return token < kDependents && token % 2 == 1; }
constexpr bool is_stream(std::uint32_t token) { return token < kDependents && token % 2 == 0; }
constexpr ValueId value_of(std::uint32_t token) { return ValueId{(token & ~kDependents) / 2}; }

/// Accesses that no ir::Access stands for.
inline constexpr std::uint16_t kAllocation = UINT16_MAX;   ///< by a stream-ordered allocation
inline constexpr std::uint16_t kRelease = UINT16_MAX - 1;  ///< by a stream-ordered free
/// The record of the event `memory`: it touches no memory.
inline constexpr std::uint16_t kEventRecord = UINT16_MAX - 2;

struct Pending {
  OpIndex op = kNoOp;
  std::uint16_t access = 0;
  ValueId memory = kUnknown;  ///< without offset
  KeyId offset = kWhole;
  ValueId stream = kUnknown;
  // The fields up to here identify the access.
  KeyId bytes = kWhole;
  KeyId arguments = kWhole;  ///< Kernel: the name of all scalars that it is given
  KeyId from = kWhole;       ///< Kernel: the scalars that say where it begins
  ir::Mode mode = ir::Mode::Unknown;
  SetId must = kEmptySet;
  SetId may = kEmptySet;
  SetId since = kEmptySet;              ///< ops that ran after it and made some order
  std::optional<ordering::Rule> leans;  ///< the assumed rule by which the host has waited for it
  bool earlier_iteration = false;
  OpIndex given_back = kNoOp;  ///< what has put its memory back in a free list since; kNoOp: on some path, nothing
  ValueId home = kUnknown;     ///< kReturned: the stream in whose order the block went back

  friend bool operator==(const Pending&, const Pending&) = default;
};

/// A mark that the op has run: it touches no memory, and `memory` is the object of that op. Only used to judge duties
/// (duties.h).
inline constexpr std::uint16_t kWork = UINT16_MAX - 3;
/// A mark that the op used a tensor that has ended since. `memory` is the object of the op that ended it
/// (inspect_releases.h).
inline constexpr std::uint16_t kReturned = UINT16_MAX - 4;

/// The access is made by a message-passing library (ir::OpKind::Post): only the host can wait for it.
bool is_message(const Values& values, const Pending& pending);

/// The memory that a pointer points to, and the offset in it.
struct Span {
  ValueId memory = kUnknown;
  KeyId offset = kWhole;
};
Span span_of(const Values& values, ValueId pointer);
/// The two are one block of memory, or the one is a part of the other.
bool related(const Values& values, ValueId a, ValueId b);

/// Memory that work of a capture uses.
struct CapturedUse {
  OpIndex op = kNoOp;          ///< the first such work
  OpIndex given_back = kNoOp;  ///< the op by which the memory went back to a free list after the last such work
};

struct EventState {
  bool never = false;      ///< certainly not recorded since it was made
  OpIndex record = kNoOp;  ///< the last record; kNoOp: not known or none
  ValueId stream = kUnknown;
  bool used = true;          ///< something may have waited for that record, or queried it
  bool perhaps_not = false;  ///< recorded in an earlier iteration of a loop; in the first iteration it is not recorded
  OpIndex failed = kNoOp;    ///< with `never`: a record that fails; kNoOp: none is known
  friend bool operator==(const EventState&, const EventState&) = default;
};

/// A wait or synchronisation that has run. Messages say why it did not help.
struct Edge {
  ValueId stream = kUnknown;  ///< the stream that waits or is synchronised
  ValueId event = kUnknown;
  bool never = false;      ///< the event was not recorded
  OpIndex record = kNoOp;  ///< the record that it waited for
  ValueId recorded_on = kUnknown;
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// On no, some or all paths.
enum class Tri : std::uint8_t { No, Some, All };

/// The device that was current when the function was entered. Other devices are the versions (Value::Kind::Version)
/// that SetDevice makes.
inline constexpr ValueId kFirstDevice = kNull;

/// What the host thread has set. See order_thread.cpp.
struct HostThread {
  ValueId device = kFirstDevice;
  std::map<OpIndex, ValueId> made_on;       ///< the device that was current when the op created a handle
  std::vector<ValueId> modes;               ///< variables that a capture mode of the thread was swapped into; sorted
  std::optional<std::uint32_t> groups = 0;  ///< how many are open; absent: not known, work in them is not reported
  std::vector<Pending> held_back;           ///< work of the open groups; sorted by op
  std::map<ValueId, OpIndex> held_streams;  ///< the streams that this work will be enqueued on, each with the last op
};

class Order {
 public:
  void apply(Values& values, Sets& sets, const Store& store, OpIndex index);
  void age(Values& values, Sets& sets, const Aging& aging);
  /// True if anything changed. `first`: no state has come to this block before.
  bool join(const Values& values, Sets& sets, const Order& other, bool back_edge, bool first);
  /// Drops the accesses of `ops`, indexed by OpIndex.
  void drop(const std::vector<bool>& ops);

  /// Does an op enqueued on `stream` now come after the access?
  bool surely_before(const Values& values, const Sets& sets, SetId must, ValueId stream) const;
  bool perhaps_before(const Values& values, const Sets& sets, SetId may, ValueId stream) const;
  /// The stream that the op names. A default stream becomes the one of the current device.
  ValueId stream_of(Values& values, const Store& store, OpIndex index) const;
  /// A default stream as that of the current device.
  ValueId of_current_device(Values& values, ValueId stream) const;
  /// The two are one stream, or default streams whose devices are not known to differ.
  [[nodiscard]] static bool one_stream(const Values& values, ValueId a, ValueId b);

  /// Which part of a programmatic launch in `stream` comes after the access: all of it, or what it does after its wait.
  enum class Dependent : std::uint8_t { Start, Waited };
  static bool surely_before(const Values& values, const Sets& sets, SetId must, ValueId stream, Dependent part);
  static bool perhaps_before(const Values& values, const Sets& sets, SetId may, ValueId stream, Dependent part);

  [[nodiscard]] const std::vector<Pending>& pending() const { return pending_; }
  /// By op: the edge as it was when the op last ran, on some path. An edge stays when its event is recorded again;
  /// Pending::since says which edges were made after an access.
  [[nodiscard]] const std::map<OpIndex, Edge>& edges() const { return edges_; }
  /// nullptr: nothing is known of the event.
  [[nodiscard]] const EventState* event(ValueId event) const;
  /// The event was created here and certainly not recorded since. Also if it is an element of an array of events none
  /// of which was recorded.
  [[nodiscard]] bool never_recorded(const Values& values, ValueId event) const;
  /// The op that destroyed the handle, and whether on all paths; kNoOp: not destroyed.
  [[nodiscard]] std::pair<OpIndex, bool> destroyed(ValueId handle) const;
  /// The two handles certainly belong to two devices.
  [[nodiscard]] bool on_two_devices(const Values& values, ValueId a, ValueId b) const;
  /// A synchronisation of the current device covers the stream.
  [[nodiscard]] bool on_current_device(const Values& values, ValueId stream) const;
  /// A synchronisation of the current device certainly does not cover the stream.
  [[nodiscard]] bool on_another_device(const Values& values, ValueId stream) const;
  /// The thread's capture mode is what it was when the function was entered.
  [[nodiscard]] bool own_capture_mode() const { return thread_.modes.empty(); }
  /// An open group holds the op back: nothing of it is enqueued yet.
  [[nodiscard]] bool holds_back(const ir::Op& op) const {
    return op.work == ir::Work::Communication && thread_.groups != 0U;
  }
  /// The accesses that a GroupEnd would enqueue here.
  [[nodiscard]] const std::vector<Pending>& released() const;
  /// Events of other processes that were opened on all paths and not used since, with the op that opened them.
  [[nodiscard]] const std::map<ValueId, OpIndex>& opened() const { return opened_; }
  [[nodiscard]] Tri capturing() const { return capturing_; }
  [[nodiscard]] const std::map<ValueId, OpIndex>& captured() const { return captured_; }
  /// The capture may have spread to streams that are not in captured(): by unknown code, or by an event that was
  /// recorded behind unknown work.
  [[nodiscard]] bool perhaps_forked() const { return perhaps_forked_; }
  /// Memory that was allocated since the capture began, but not by an operation of the capture.
  [[nodiscard]] const std::map<ValueId, OpIndex>& made_inside() const { return made_inside_; }
  /// Captured streams other than the one that the capture began on, with work that the first one has not waited for.
  [[nodiscard]] const std::map<ValueId, OpIndex>& unjoined() const { return unjoined_; }
  [[nodiscard]] const std::map<ValueId, CapturedUse>& captured_memory() const { return captured_memory_; }

  /// Streams with work since the host last waited for them.
  [[nodiscard]] const std::map<ValueId, OpIndex>& busy() const { return busy_; }
  /// There may be work on streams that are not known.
  [[nodiscard]] bool strangers() const { return strangers_; }
  /// The synchronisation since which nothing was enqueued on `stream`, on all paths. `stream` kUnknown: on the device.
  [[nodiscard]] OpIndex quiet_since(ValueId stream) const;
  /// The memory was pinned by a call (cudaHostRegister).
  [[nodiscard]] bool registered(ValueId memory) const;
  /// The streams for which record_stream() was called on this memory, or on unknown memory, on some path.
  [[nodiscard]] SetId kept(Sets& sets, ValueId memory) const;
  /// The allocator of pinned tensors knows of copies between tensors, and waits for them.
  static bool is_waited_for_by_allocator(const Values& values, const Pending& use, ValueId memory) {
    return values.op(use.op).transfers && values.memory_kind(memory) == ordering::MemoryKind::Pinned;
  }
  /// The op is in no stream: all tensors that it uses are in host memory.
  [[nodiscard]] bool is_done_by_host(Values& values, const Store& store, OpIndex index) const;
  /// The kind of the memory that an op touches. Absent: not known.
  [[nodiscard]] std::optional<ordering::MemoryKind> kind(const Values& values, const ir::Access& access,
                                                         ValueId memory) const;

 private:
  friend class OrderStep;
  /// A value that stands for a device.
  [[nodiscard]] ValueId device_of(const Values& values, ValueId handle) const;
  /// The number of the handle's device; nullptr: not known.
  [[nodiscard]] const std::string* device_number(const Values& values, ValueId handle) const;
  /// The barrier of the legacy stream orders the two streams.
  [[nodiscard]] bool surely_meet(const Values& values, ValueId legacy, ValueId other) const;
  [[nodiscard]] bool perhaps_meet(const Values& values, ValueId legacy, ValueId other) const;
  void join_events(const Values& values, const Order& other, bool back_edge, bool& changed);
  void age_thread(Values& values, Sets& sets, const Aging& aging);
  void join_thread(const Values& values, Sets& sets, const Order& other, bool back_edge, bool& changed);

  std::vector<Pending> pending_;  ///< sorted by the fields that identify an access
  std::map<ValueId, EventState> events_;
  std::vector<OpIndex> recorded_;  ///< ops that make events of which some may have been recorded; sorted
  bool unknown_recorded_ = false;  ///< an unknown event was recorded or given away: it may be any
  std::map<OpIndex, Edge> edges_;
  std::map<ValueId, std::pair<OpIndex, bool>> destroyed_;
  std::map<ValueId, OpIndex> captured_;
  Tri capturing_ = Tri::No;
  bool perhaps_forked_ = false;
  std::map<ValueId, OpIndex> unjoined_;
  std::map<ValueId, ValueId> capture_records_;  ///< event, stream
  std::map<ValueId, CapturedUse> captured_memory_;
  std::map<ValueId, OpIndex> made_inside_;
  std::map<ValueId, OpIndex> busy_;
  bool strangers_ = false;
  std::map<ValueId, OpIndex> quiet_;
  std::vector<ValueId> registered_;  ///< sorted
  /// Streams that wait for a value since the host last waited for them, on some path: their work may come after work
  /// that is submitted later. Sorted.
  std::vector<ValueId> held_by_value_;
  std::map<ValueId, OpIndex> opened_;
  std::map<ValueId, SetId> kept_;
  HostThread thread_;
};

/// Goes on to the next round of a loop: each access becomes one of an earlier round. Accesses whose memory has no
/// precise name any more are dropped.
void age_all(Values& values, Sets& sets, std::vector<Pending>& pending, const Aging& aging);
/// The accesses that may have happened on either of two paths.
std::vector<Pending> joined(Sets& sets, const std::vector<Pending>& mine, const std::vector<Pending>& theirs,
                            bool back_edge);
/// Adds the access in place of the same access of an earlier run of its op.
void insert(std::vector<Pending>& pending, const Pending& added);

/// Access `number` of the op, as it would be pending: without tokens. Absent: the memory is not known.
std::optional<Pending> touch(Values& values, const Store& store, OpIndex index, std::uint16_t number);
/// All rules that can apply to a copy or fill. There are several if the kinds of memory are not known.
std::vector<ordering::CopyRule> copy_rules(Values& values, const Store& store, const Order& order, OpIndex index);
bool copies_or_fills(const ir::Op& op);

}  // namespace streamsan::analyzer

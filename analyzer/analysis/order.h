// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may still be running at one point of the function, and what comes after it: the second half of the state.
//
// Each access of each enqueued op is kept as Pending, with the set of tokens that come after it. A token is a stream
// (all that is enqueued there from now on), an event (all that waits for its present record) or the host (all that the
// host does or enqueues from now on). It is the sparse form of vector clocks: a clock's component exists only where an
// access is pending.
//
//   enqueue on S        the new access has {S}
//   record E on S       E leaves all sets, then joins those that cover S
//   wait of S for E     S joins the sets with E
//   synchronise S, E    the host joins the sets that cover S, have E
//   the legacy stream   before it is used it joins the sets with a blocking stream; it covers blocking streams
//
// Every access has the set twice. `must` is what is in it on all paths and under all readings of names, `may` on some.
// Joins intersect the one and unite the other. Not in `may`: there is no order, on no path. In `must`: there is.
//
// An access that the host has waited for stays, as a tombstone, so that a join can distinguish "waited for" from "never
// happened". Its sets hold the host alone: which streams came after it is forgotten. The record of an event is an
// access as well (kEventRecord), so whether a stream comes after a record is asked in the same way. An access on one
// path only is kept: after the join it may have happened.
//
// A pending access whose memory has no precise name any more can meet nothing and is dropped.
//
// The random test (tests/random_test.cpp) drives this and the definition of the order
// (ordering/tests/reference_model.h) with the same programs. Where the two differ on purpose is listed in
// tests/reference_differences.def.
//
// Besides, what the host thread has set and later calls depend on: the current device, the mode in which captures
// refuse calls, an open group of a library (order_thread.cpp).
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
  // Up to here: which one it is.
  KeyId bytes = kWhole;
  KeyId arguments = kWhole;  ///< of a kernel
  KeyId from = kWhole;       ///< of a kernel: those of them that say where it begins
  ir::Mode mode = ir::Mode::Unknown;
  SetId must = kEmptySet;
  SetId may = kEmptySet;
  SetId since = kEmptySet;              ///< ops that made some order and ran after it
  std::optional<ordering::Rule> leans;  ///< what makes the host wait for it, today, without promise
  bool earlier_iteration = false;
  OpIndex given_back = kNoOp;  ///< where its memory went back to a free list since; kNoOp: on some path it did not
  ValueId home = kUnknown;     ///< kReturned: the stream in whose order the block went back

  friend bool operator==(const Pending&, const Pending&) = default;
};

/// Marks that the op has run whose value is its name: it touches no memory. Only used to judge duties (duties.h).
inline constexpr std::uint16_t kWork = UINT16_MAX - 3;
/// Marks that the op used a tensor that has ended, by the op whose object is `memory` (inspect_releases.h).
inline constexpr std::uint16_t kReturned = UINT16_MAX - 4;

/// It is made by a message-passing library (ir::OpKind::Post), for which the host alone can wait.
bool is_message(const Values& values, const Pending& pending);

/// Memory a pointer points to, and where in it.
struct Span {
  ValueId memory = kUnknown;
  KeyId offset = kWhole;
};
Span span_of(const Values& values, ValueId pointer);
/// One block of memory, or one an object and the other a part of it.
bool related(const Values& values, ValueId a, ValueId b);

/// Memory that work of a capture uses.
struct CapturedUse {
  OpIndex op = kNoOp;          ///< that work, the first
  OpIndex given_back = kNoOp;  ///< where the memory went back to a free list after the last such work
};

struct EventState {
  bool never = false;      ///< certainly not recorded since it was made
  OpIndex record = kNoOp;  ///< the last record; kNoOp: not known or none
  ValueId stream = kUnknown;
  bool used = true;          ///< something may have waited for, or asked about, that record
  bool perhaps_not = false;  ///< recorded in an earlier iteration of a loop, or, in the first one, never
  OpIndex failed = kNoOp;    ///< never: a record that cannot have happened; kNoOp: none is known
  friend bool operator==(const EventState&, const EventState&) = default;
};

/// A wait or synchronisation that was passed, for telling why it did not help.
struct Edge {
  ValueId stream = kUnknown;  ///< that waits or is synchronised
  ValueId event = kUnknown;
  bool never = false;      ///< the event was not recorded
  OpIndex record = kNoOp;  ///< what it waited for
  ValueId recorded_on = kUnknown;
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// On no, some or all paths.
enum class Tri : std::uint8_t { No, Some, All };

/// Among the values that stand for devices, the versions that SetDevice makes: the one that the function was entered
/// with.
inline constexpr ValueId kFirstDevice = kNull;

/// What the host thread has set. See order_thread.cpp.
struct HostThread {
  ValueId device = kFirstDevice;
  std::map<OpIndex, ValueId> made_on;  ///< the device that was current when the op created a handle
  std::vector<ValueId> modes;  ///< variables that hold a capture mode of the thread, exchanged for another; sorted
  std::optional<std::uint32_t> groups = 0;  ///< open ones; absent: not known, work in them is not reported
  std::vector<Pending> held_back;           ///< work of the open groups; sorted by which one
  std::map<ValueId, OpIndex> held_streams;  ///< the streams it will be enqueued on, with its last op
};

class Order {
 public:
  void apply(Values& values, Sets& sets, const Store& store, OpIndex index);
  void age(Values& values, Sets& sets, const Aging& aging);
  /// True if anything changed. `first`: nothing has come here before.
  bool join(const Values& values, Sets& sets, const Order& other, bool back_edge, bool first);
  /// Accesses of `ops` are of no interest any more.
  void drop(const std::vector<bool>& ops);

  /// Does an op enqueued on `stream` now come after the access?
  bool surely_before(const Values& values, const Sets& sets, SetId must, ValueId stream) const;
  bool perhaps_before(const Values& values, const Sets& sets, SetId may, ValueId stream) const;
  /// The stream that the op names, a default stream as that of the current device.
  ValueId stream_of(Values& values, const Store& store, OpIndex index) const;
  /// A default stream as that of the current device.
  ValueId of_current_device(Values& values, ValueId stream) const;
  /// One stream, or default streams of which it is not known that their devices are two.
  [[nodiscard]] static bool one_stream(const Values& values, ValueId a, ValueId b);

  /// For programmatic launches in `stream`: does all of one come after the access, or what it does after its wait?
  enum class Dependent : std::uint8_t { Start, Waited };
  static bool surely_before(const Values& values, const Sets& sets, SetId must, ValueId stream, Dependent part);
  static bool perhaps_before(const Values& values, const Sets& sets, SetId may, ValueId stream, Dependent part);

  [[nodiscard]] const std::vector<Pending>& pending() const { return pending_; }
  /// Each as it was when its op last ran, on some path. It stays when its event is recorded again: Pending::since says
  /// which of them ran after an access.
  [[nodiscard]] const std::map<OpIndex, Edge>& edges() const { return edges_; }
  /// nullptr: nothing is known.
  [[nodiscard]] const EventState* event(ValueId event) const;
  /// Created here, and certainly not recorded since; also of an element of an array of events none of which was.
  [[nodiscard]] bool never_recorded(const Values& values, ValueId event) const;
  /// The op that destroyed the handle, and whether on all paths; kNoOp: not destroyed.
  [[nodiscard]] std::pair<OpIndex, bool> destroyed(ValueId handle) const;
  /// The two handles certainly belong to two devices.
  [[nodiscard]] bool on_two_devices(const Values& values, ValueId a, ValueId b) const;
  /// A synchronisation of the current device covers the stream.
  [[nodiscard]] bool on_current_device(const Values& values, ValueId stream) const;
  /// It certainly does not.
  [[nodiscard]] bool on_another_device(const Values& values, ValueId stream) const;
  /// The thread's capture mode is what it was when the function was entered.
  [[nodiscard]] bool own_capture_mode() const { return thread_.modes.empty(); }
  /// Work that a group holds back: nothing of it is enqueued yet.
  [[nodiscard]] bool holds_back(const ir::Op& op) const {
    return op.work == ir::Work::Communication && thread_.groups != 0U;
  }
  /// What a GroupEnd would enqueue here.
  [[nodiscard]] const std::vector<Pending>& released() const;
  /// Events of other processes that were opened on all paths, and that nothing has used since; and where.
  [[nodiscard]] const std::map<ValueId, OpIndex>& opened() const { return opened_; }
  [[nodiscard]] Tri capturing() const { return capturing_; }
  [[nodiscard]] const std::map<ValueId, OpIndex>& captured() const { return captured_; }
  /// The capture may have come to streams that are not among those: by code that is not known, or by an event of which
  /// it is not known what it was recorded behind.
  [[nodiscard]] bool perhaps_forked() const { return perhaps_forked_; }
  /// Memory that was allocated since the capture began, and not by it.
  [[nodiscard]] const std::map<ValueId, OpIndex>& made_inside() const { return made_inside_; }
  /// Captured streams that the capture did not begin with, and their work that no such stream has waited for.
  [[nodiscard]] const std::map<ValueId, OpIndex>& unjoined() const { return unjoined_; }
  [[nodiscard]] const std::map<ValueId, CapturedUse>& captured_memory() const { return captured_memory_; }

  /// Streams with work since the host last waited for them.
  [[nodiscard]] const std::map<ValueId, OpIndex>& busy() const { return busy_; }
  /// True if there may be work of which nothing is known.
  [[nodiscard]] bool strangers() const { return strangers_; }
  /// The synchronisation after which nothing more can have been enqueued on `stream`, on all paths; kUnknown asks for
  /// the device.
  [[nodiscard]] OpIndex quiet_since(ValueId stream) const;
  /// The same memory, pinned by a call (cudaHostRegister).
  [[nodiscard]] bool registered(ValueId memory) const;
  /// Streams that the memory is kept alive for (record_stream), on some path; with those that something unknown is.
  [[nodiscard]] SetId kept(Sets& sets, ValueId memory) const;
  /// The copies between tensors that use a pinned one are known to its allocator, which waits for them.
  static bool is_waited_for_by_allocator(const Values& values, const Pending& use, ValueId memory) {
    return values.op(use.op).transfers && values.memory_kind(memory) == ordering::MemoryKind::Pinned;
  }
  /// Work that is in no stream: all tensors that it is about are in memory of the host.
  [[nodiscard]] bool is_done_by_host(Values& values, const Store& store, OpIndex index) const;
  /// The kind of the memory that an op touches. Absent: not known.
  [[nodiscard]] std::optional<ordering::MemoryKind> kind(const Values& values, const ir::Access& access,
                                                         ValueId memory) const;

 private:
  friend class OrderStep;
  /// A value that stands for a device.
  [[nodiscard]] ValueId device_of(const Values& values, ValueId handle) const;
  /// Its number; nullptr: not known.
  [[nodiscard]] const std::string* device_number(const Values& values, ValueId handle) const;
  /// The legacy barrier is between the two.
  [[nodiscard]] bool surely_meet(const Values& values, ValueId legacy, ValueId other) const;
  [[nodiscard]] bool perhaps_meet(const Values& values, ValueId legacy, ValueId other) const;
  void join_events(const Values& values, const Order& other, bool back_edge, bool& changed);
  void age_thread(Values& values, Sets& sets, const Aging& aging);
  void join_thread(const Values& values, Sets& sets, const Order& other, bool back_edge, bool& changed);

  std::vector<Pending> pending_;  ///< sorted by which one
  std::map<ValueId, EventState> events_;
  std::vector<OpIndex> recorded_;  ///< ops of whose events some may have been recorded; sorted
  bool unknown_recorded_ = false;  ///< an event that may be any was recorded, or given away
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
  std::map<ValueId, OpIndex> opened_;
  std::map<ValueId, SetId> kept_;
  HostThread thread_;
};

/// Goes on to the next round of a loop: each access becomes one of an earlier round, and those whose memory has no
/// precise name any more are dropped.
void age_all(Values& values, Sets& sets, std::vector<Pending>& pending, const Aging& aging);
/// What may have happened on one of two paths.
std::vector<Pending> joined(Sets& sets, const std::vector<Pending>& mine, const std::vector<Pending>& theirs,
                            bool back_edge);
/// Takes the place of the same access of an earlier run of its op.
void insert(std::vector<Pending>& pending, const Pending& added);

/// Access `number` of the op, as it would be pending: without tokens. Absent: the memory is not known.
std::optional<Pending> touch(Values& values, const Store& store, OpIndex index, std::uint16_t number);
/// All rules that can apply to a copy or fill, the kinds of memory being known or not.
std::vector<ordering::CopyRule> copy_rules(Values& values, const Store& store, const Order& order, OpIndex index);
bool copies_or_fills(const ir::Op& op);

}  // namespace streamsan::analyzer

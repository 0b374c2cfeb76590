// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hazard: two accesses to common bytes that nothing orders. Plain data; no wording here (see report/).
#pragma once

#include <cstdint>
#include <optional>

#include "ordering/common_bytes.h"
#include "ordering/rules.h"
#include "ordering/types.h"

namespace streamsan::ordering {

enum class AccessMode : std::uint8_t {
  Read,
  Write,     ///< also read-modify-write
  Atomic,    ///< only by atomic operations of the GPU: no conflict with one another
  Unknown,   ///< inferred: may write, may only read
  Doubtful,  ///< inferred from a word inside a structure that may be left over from earlier: may not be used at all
};

enum class AccessSource : std::uint8_t {
  Copy,  ///< a side of a copy
  Fill,
  Kernel,    ///< inferred from a kernel argument, unless exact
  Allocate,  ///< the start of a stream-ordered allocation: a write of all its bytes
  Free,      ///< the end of an allocation: a write of all its bytes
  Host,      ///< a touch by the host, or the host side of a copy that is done during the call
};

/// May two accesses of these modes to the same bytes go wrong when nothing orders them?
constexpr bool conflict(AccessMode a, AccessMode b) {
  if (a == AccessMode::Read && b == AccessMode::Read) return false;
  return a != AccessMode::Atomic || b != AccessMode::Atomic;
}

struct Access {
  OpId op{};
  SiteId site{};
  StreamId stream{};  ///< meaningless for a Host access and for a classic free
  ThreadId thread{};  ///< who submitted it
  AccessMode mode = AccessMode::Read;
  AccessSource source = AccessSource::Copy;
  bool exact = true;  ///< the bytes are known
  /// Exact, Kernel: known from an earlier launch with the same arguments, which may have met other data.
  bool learned = false;
  bool atomic_for_host = false;  ///< Atomic: for the host, too (of system scope, or volatile)
  bool signals = false;          ///< Write, exact: by stores that are atomic for the host
  bool widened = false;          ///< exact, Kernel: an upper bound; it touches some of the bytes, not surely all
  bool bounded = false;          ///< inferred: from a texture or surface, so that `range` is all that it may reach
  bool parted = false;           ///< bounded: that has layers or levels, of which the kernel may touch one
  bool conditional = false;      ///< of a node in the body of a conditional node, which may never run (R-GRF-27)
  bool signalled = false;        ///< Kernel: it waits for words that others store, which may order it unseen
  bool in_place = false;         ///< Copy: pageable memory is used where it lies, also after the call (batch_rule())
  bool on_stream = true;         ///< false: done by the host thread, not in a stream
  Range range;                   ///< exact: the bytes; inferred: from the pointer to the end of what it may reach
  FunctionId function{};         ///< Kernel
  std::uint64_t device_threads = 0;   ///< Kernel
  std::uint64_t arguments_hash = 0;   ///< Kernel
  std::uint64_t moment = kNeverSeen;  ///< of the call, see Model::at()
  std::uint32_t node = 0;             ///< of a graph: GraphNode::number; 0: made by a call of its own
  SiteId launched{};                  ///< where that graph was launched; none: inside of a graph (graph.h)
  static constexpr std::uint64_t kNeverSeen = ~std::uint64_t{0};
};

/// Is it a node that is compared with nodes of its own graph, and so in no stream yet?
constexpr bool is_inside_graph(const Access& access) { return access.node != 0 && access.launched == kNoSite; }

/// A conflict with it is possible, never certain, whatever its bytes are.
constexpr bool is_at_most_possible(const Access& access) { return access.conditional || access.signalled; }

/// May the host meet it on purpose, while the kernel runs? (R-UM-11)
constexpr bool may_signal(const Access& access) {
  return access.mode == AccessMode::Atomic ? access.atomic_for_host : access.signals;
}

/// How the bytes of an access are known. Whatever is certain with one of the last three is certain with those after it.
enum class Evidence : std::uint8_t { Inferred, Widened, Learned, Sure };

/// The evidence for the bytes alone, if the access touches any.
constexpr Evidence evidence_of_bytes(const Access& access) {
  if (!access.exact) return Evidence::Inferred;
  if (access.widened) return Evidence::Widened;
  return access.learned ? Evidence::Learned : Evidence::Sure;
}

/// An access whose conflicts are possible at most counts as an upper bound.
constexpr Evidence evidence(const Access& access) {
  return access.exact && is_at_most_possible(access) ? Evidence::Widened : evidence_of_bytes(access);
}

/// Named after the later access relative to the earlier one. Atomic, Unknown and Doubtful count as a write.
enum class HazardKind : std::uint8_t {
  ReadAfterWrite,
  WriteAfterRead,
  WriteAfterWrite,
  UseBeforeAllocate,  ///< not after the stream-ordered allocation
  UseAfterFree,       ///< submitted after the memory was freed (R-SOA-04): `earlier` is the free. A second free, too.
                      ///< Whatever the order of the two: always Order::Unordered
  FreeWhileInUse,     ///< the free is not after an earlier access
  ReleaseWhileInUse,  ///< a block went back to its pool, and that is not after an earlier access
  ReuseWhileInUse,    ///< a pool handed a block out again, and that is not after an access of its earlier life; or what
                      ///< is done with it is not, if the pool did not tell for which stream it was
};

enum class Certainty : std::uint8_t {
  Certain,   ///< the accesses overlap if the program does what its arguments say
  Possible,  ///< they may be disjoint parts of one allocation, or a host function may have made order between them
};

enum class Order : std::uint8_t {
  Unordered,  ///< by both clocks: an error
  Latent,     ///< ordered by the assumed clock only: Hazard::leaned_on names the rule
};

/// Why nothing orders the pair: the edge that comes nearest to doing so, seen from the later access.
enum class NearestEdge : std::uint8_t {
  None,                   ///< the later lane has never waited for the earlier one
  EventRecordedTooEarly,  ///< it waited for `event`, recorded before the earlier access
  EventNeverRecorded,     ///< it waited for `event`, which had not been recorded: the wait did nothing
  EventNotWaitedFor,      ///< `event` was recorded after the earlier access, and the later lane does not wait for it
  SyncTooEarly,           ///< the host synchronised with the earlier lane, but before the earlier access
  NonBlockingStream,      ///< one side is the legacy stream, the other a non-blocking one: no implicit order (R-STR-12)
  OtherDevice,            ///< after the earlier access the host waited for all work of another device, `waited_for`
  DependentLaunch,  ///< both are kernels of one stream, and the later one may begin before the earlier one ends: `use`.
                    ///< `record` is the kernel right in front of the later one, if that is not the earlier one
  LaunchEvent,      ///< it waited for `event`, which the launch itself records: not when the kernel has ended
  SourceOrder,      ///< the later one is the read of a batch's source, which keeps no stream order; by that of its
                    ///< stream it would come after the earlier one
  NoPathInGraph,    ///< both are nodes of one graph, and no path of edges leads from one to the other
};

/// DependentLaunch: what the later kernel does.
enum class DependentUse : std::uint8_t {
  NeverWaits,  ///< for the kernel in front
  BeforeWait,  ///< it does wait for it, but touches the memory before
  AfterWait,   ///< for the kernel in front, which itself did not wait for the earlier one
};

struct Explanation {
  NearestEdge nearest = NearestEdge::None;
  EventId event{};  ///< for the three event cases
  OpId record{};    ///< number of the record
  SiteId record_site{};
  OpId wait{};             ///< number of the wait; none: the host's
  SiteId wait_site{};      ///< OtherDevice: of the host's wait
  ContextId waited_for{};  ///< OtherDevice
  DependentUse use{};      ///< DependentLaunch
};

struct AllocationInfo {
  AllocationId id{};
  Range range;
  MemoryKind kind = MemoryKind::Device;
  SiteId site{};  ///< where it was allocated
  OpId op{};      ///< DeviceAsync: the allocating operation
  ThreadId thread{};
  bool block = false;  ///< handed out by a pool of the program
  bool syncs = false;  ///< R-CPY-08: synchronous copies and fills of it complete before they return
  /// Where it was allocated or registered, if that is known. It stands for the device, which holds the memory or, of
  /// managed and host memory, whose work a free waits for (measured).
  std::optional<ContextId> context{};
};

struct Hazard {
  HazardKind kind{};
  Certainty certainty = Certainty::Certain;
  bool perhaps_signalled = false;  ///< Possible only because of a host function after `earlier` (R-HST-06)
  /// Possible because another host thread knew `earlier` to be complete, and may have passed that on (R-SYN-10).
  bool perhaps_passed_on = false;
  /// Possible because the stream of one of the two waits for a value in memory, which may be written behind the other
  /// one (R-MOP-04). Never set by the model.
  enum class Awaits : std::uint8_t { No, Earlier, Later };
  Awaits awaits_value = Awaits::No;
  bool order_known = true;  ///< false: the program makes order that the model does not see. Never set by the model
  Order order = Order::Unordered;
  std::optional<Rule> leaned_on;  ///< Latent: the assumed rule that orders the pair today
  Access earlier;                 ///< earlier in submission order
  Access later;
  Range overlap;  ///< bytes both may touch; of several runs one
  /// All bytes that both touch, if both are exact, it is a matter of bytes, and the sink wants to know.
  CommonBytes common;
  AllocationInfo allocation;
  SiteId freed{};  ///< UseAfterFree, ReuseWhileInUse: where `allocation`, the earlier life, ended
  Explanation explanation;
};

/// Receives hazards as they are found. References are valid during the call only.
class HazardSink {
 public:
  virtual ~HazardSink() = default;
  virtual void hazard(const Hazard& hazard) = 0;
  /// Shall Hazard::common be filled in? Asked before hazard(), with all else filled in but the explanation.
  virtual bool wants_common_bytes(const Hazard&) { return true; }
};

/// When is a conflict with an inferred access certain?
///
/// An inferred access says: a kernel was given pointer p into an allocation. It says nothing about how far the kernel
/// reaches, and slicing one allocation among streams by an index argument is common (pipelines, halo exchange). Nor
/// need a pointer to non-const be written through: two streams that read the same weights do no harm. The first row
/// that fits decides:
///
///   conditional         Possible, whatever the other one is: it may never be made.
///   signalled           Possible: the words that its kernel waits for may order the two, and nobody sees that order.
///   widened, anything   Possible: an upper bound is a reason to look, not evidence.
///   learned, anything   Possible, for the same reason: an earlier launch did it, and the judge asks for a measurement.
///                       But certain if the other one is the start or the end of the allocation: that is a matter of
///                       its life and not of bytes, and the last launch before a free cannot be measured later.
///   exact, exact        Certain: the bytes overlap. But possible if the one is a touch by the host, and the other an
///                       atomic access that is atomic for the host, too: words that both sides poll or update are how
///                       programs signal (R-UM-11), and whether the host's touch is atomic is not seen.
///   no certain write    Possible: neither surely writes (AccessMode::Write), or one of them is Doubtful.
///   exact, inferred     Nothing at all if the exact range ends at or before p. Certain if it is the whole allocation.
///                       Else possible if the exact one is a touch by the host, of which often only the first byte is
///                       known, or a launch of the same function with other arguments, which may be another slice.
///                       Else certain if it holds p and has at least one byte for each device thread: a kernel with
///                       more threads than bytes copied works on more than the range, as the interior kernel beside a
///                       halo-row copy. Else possible.
///                       If the inferred one is bounded: certain if the exact one is all of its range, else possible.
///                       No argument says where a texture is read, so that nothing distinguishes two tiles.
///   inferred, inferred  Certain if both got the very same p, the kernels are different functions, and their thread
///                       counts differ by at most a factor 32 (a pack or boundary kernel has far fewer threads than the
///                       interior kernel beside it). One function launched twice with the same p may slice by another
///                       argument: possible, unless the argument hashes are equal too. Possible if one of them is
///                       parted: of the layers or levels it is given, it may use the one that another argument says.
///   atomic, inferred    As above if the other side surely reads, or its writes are known. A kernel that is inferred to
///                       write may do so by atomics itself: possible.
///
/// Frees and allocations are exact and whole. Measured footprints make accesses exact and this question moot.
/// This looks at the bytes alone. The model lowers a certain conflict to possible where a host function may have
/// signalled to the host that the earlier access is done (model.h, HOST THREADS). Returns nothing when the two cannot
/// meet.
std::optional<Certainty> certainty(const Access& earlier, const Access& later, Range allocation);

}  // namespace streamsan::ordering

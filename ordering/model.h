// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ordering model: what a CUDA program did, and which of it is ordered.
//
// A Model is fed the calls of a program in submission order and keeps the happens-before relation between operations
// (kernels, copies, fills, frees) and the host. Whenever two operations touch the same bytes, at least one writes, and
// nothing orders them, it hands a Hazard to the sink.
//
// THE NAIVE SPECIFICATION (ordering/tests/reference_model.* is this, literally, and is compared with the fast one):
//   every operation is a node; an edge a -> b means "a is complete, its writes visible, before b starts";
//   * R-CORE-02  consecutive operations of one stream are connected;
//   * R-LCH-02  a kernel that may overlap the one in front has two nodes for what it does, one before its wait and one
//     behind it, and what is connected with them is less (dependents.h);
//   * R-CORE-01  what the host knows to be complete at a call is before the operation that call submits;
//   * R-EVT-01/03/05  a wait connects what the event had captured at its last record before the wait to everything
//     later in the waiting stream; a never-recorded event connects nothing (R-EVT-04);
//   * R-STR-10..20  an action in the legacy stream is after everything earlier in the blocking streams of its context
//     and before everything later in them; non-blocking streams take no part;
//   * R-SYN-*, R-EVT-08/09  a returned synchronisation, and a successful query, make what they cover known to the host;
//   * R-CPY-*  copies: which of them wait for what, and what is complete when they return.
//   Two accesses to common bytes, one of them a write, without a path between them: a hazard.
//
// TWO CLOCKS. Each edge is documented (NVIDIA promises it) or assumed (today's driver also does it; measured, see
// docs/model.md). A pair that no path of documented edges connects but that documented plus assumed edges connect is
// latent: it works today, but no document promises it. The hazard then names the assumed rule.
//
// CERTAINTY. An access is exact (the bytes of a copy, a fill, a measured footprint) or inferred: a pointer in a
// kernel's arguments, which may reach any byte of its allocation from the pointer on. See certainty() in hazard.h for
// when a conflict with an inferred access is certain enough to be an error and when it is only possible. Exact ones of
// kernels may also be learned or widened, which lowers certainty in the same way.
//
// HOST THREADS. Edges between host threads (a mutex, a queue, a join) are not visible at the driver boundary. What is
// seen of them beside it comes as thread_after() (Options::host_threads = Seen), see host_threads.cpp. Without that,
// records arrive in real-time order, so what one thread has waited for may count as known to all threads from then on
// (Joined). That may miss a race between host threads; it never invents one. Seen has exactly the certain hazards of
// Joined, and as possible ones those that Joined misses because of the order in which the threads ran. A host function
// can signal to host threads that the work before it is done (R-HST-06). Neither the signal nor its moment is visible.
// From its submission on the host may know, so a conflict with work before it is at most possible.
//
// WHAT IT LOSES ON PURPOSE, always towards silence:
//   * only the last write and the last reads since, per lane, are kept for each range (as FastTrack);
//   * a clock slot of a destroyed stream is used again: the new stream may look ordered after the old one's work;
//   * bytes of pageable host memory are not tracked, only the ranges that asynchronous copies borrow (host_free());
//   * what is done to a pool's memory outside of the lives of its blocks is not compared with what is done inside.
//
// GRAPHS are partial orders of their own, which graph.h explains.
//
// NOT MODELLED YET, though the interface has them: stream memory operations (stream_joins_all).
//
// SEVERAL DEVICES. A context stands for its device: streams of two contexts are ordered by events, by the host, and by
// copies between their memories in a legacy stream (R-CPY-40), which are actions of both legacy streams; of all, where
// it is not known which device holds the memory. Two contexts of one device are taken for two devices. Either may miss
// a race.
//
// Cost: memory is bounded by live streams x live allocations, never by the length of the trace.
// Threads: a Model is used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "ordering/dependents.h"
#include "ordering/hazard.h"
#include "ordering/types.h"
#include "ordering/what_if.h"

namespace streamsan::ordering {

/// The thread that calls, and where. The site is what a report will print for the operation.
struct Call {
  ThreadId thread{};
  SiteId site{};
};

/// Does the form of a copy or fill promise to wait (R-CPY-01..12) or not (R-CPY-13..18)?
enum class Form : std::uint8_t { Synchronous, Asynchronous };

/// When a copy of a batch reads its source.
enum class SourceOrder : std::uint8_t {
  Stream,      ///< R-CPY-31: in stream order
  DuringCall,  ///< R-CPY-32: before the call returns, and after nothing but what the host knows
  Any,         ///< R-CPY-33: before the batch is complete, and after nothing but what the host knows
};

/// A part of a batch. A side without bytes, or at address 0 (an array that is not known), is not touched.
struct BatchPart {
  Footprint dst;
  Footprint src;
  SourceOrder order = SourceOrder::Stream;
};

/// A pointer found among a kernel's arguments.
struct PointerArgument {
  Address address = 0;
  AccessMode mode = AccessMode::Unknown;  ///< Unknown if the launch does not show it (judge/pointer_roles.h)
  bool early = false;   ///< used before the kernel waits for the one in front; only Dependence::overlaps asks
  Bytes reach = 0;      ///< no further than so many bytes; 0: to the end of its allocation
  bool parted = false;  ///< of layers or levels, of which the kernel may touch one
};

/// Bytes that a kernel is known to touch: measured, or computed from its code.
struct KernelBytes {
  Footprint bytes;
  AccessMode mode = AccessMode::Read;
  bool widened = false;  ///< an upper bound: it touches some of the bytes, not surely all
  bool early = false;    ///< as above
  bool sure = false;     ///< known of this very launch, even where LaunchShape::learned says that the others are not
  bool signals = false;  ///< Write: by stores that are atomic for the host
};

struct LaunchShape {
  FunctionId function{};
  std::uint64_t threads = 0;         ///< grid x block
  std::uint64_t arguments_hash = 0;  ///< equal launches of one kernel mostly have equal hashes, others have others
  Dependence dependence{};           ///< R-LCH-02; a what-if takes every launch for an ordinary one
  bool confined = true;              ///< pointers and bytes lead to all that it touches; only a what-if must know
  bool prints = false;               ///< likewise
  bool atomic_for_host = false;      ///< what it does by atomic accesses is atomic for the host, too
  bool signalled = false;            ///< it waits for words that another kernel or the host stores
  bool learned = false;  ///< the known bytes are those of an earlier launch with the same arguments, but for
                         ///< those that are sure
};

/// A place in the order: that of an operation. Opaque; keep it no longer than the streams live.
struct Moment {
  std::uint32_t lane = 0;
  std::uint64_t epoch = 0;
};

class Graph;
struct GraphNode;

struct Options {
  enum class HostThreads : std::uint8_t {
    Joined,    ///< what one has waited for is known to all
    Separate,  ///< only to itself
    Seen,      ///< to those that are after it by thread_after(); what joined threads would order is `possible` at most
    Strict,    ///< as Seen, but a hand-over that was seen to come too early orders nothing
  };
  HostThreads host_threads = HostThreads::Joined;
};

struct Statistics {
  std::uint64_t operations = 0;
  std::uint64_t accesses = 0;
  std::uint64_t hazards = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_streams = 0;
  std::uint64_t shadow_entries = 0;     ///< current number of remembered accesses
  std::uint64_t comparisons = 0;        ///< of two sets of rows (row_sets.h)
  std::uint64_t forgotten = 0;          ///< accesses dropped to bound memory (a race may be missed, none is invented)
  std::uint64_t device_waits = 0;       ///< of the host for all work of a context, once there was any operation
  std::uint64_t idle_device_waits = 0;  ///< of these, those before which the host knew that all of it was complete
};

class Model {
 public:
  /// With a `what_if`, which must outlive the model, its variants are kept as well; the sink then gets the hazards of
  /// the base.
  Model(Options options, HazardSink& sink, const WhatIf* what_if = nullptr);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // ---- streams and events -------------------------------------------------------------------------------------------
  /// A blocking or non-blocking stream. Legacy and per-thread streams are made on demand by the two functions below.
  StreamId create_stream(ContextId context, StreamKind kind);
  StreamId legacy_stream(ContextId context);
  StreamId per_thread_stream(ContextId context, ThreadId thread);
  /// R-STR-30: no edge; pending work still completes and still orders (R-STR-20).
  void destroy_stream(StreamId stream);
  [[nodiscard]] StreamKind kind_of(StreamId stream) const;

  EventId create_event(EventTiming timing = EventTiming::On);
  void destroy_event(EventId event);  ///< R-EVT-11: waits already enqueued stay valid

  // ---- memory -------------------------------------------------------------------------------------------------------
  /// A classic allocation: usable by everybody at once; of that context (see AllocationInfo), if it is known. A live
  /// allocation that overlaps `range` is ended first, without a hazard (its free was not seen).
  AllocationId allocate(Call call, Range range, MemoryKind kind, std::optional<ContextId> context = std::nullopt);
  /// R-SOA-01: an operation of `stream`; accesses not after it are hazards (use before allocation).
  /// `on_its_device`: the memory is on the stream's device; false: that is not known.
  AllocationId allocate_async(Call call, StreamId stream, Range range, bool on_its_device = true);
  /// R-ALC-02/05/08: every access must be before the call; the assumed clock lets cudaFree, cudaFreeHost and
  /// cudaHostUnregister wait for all work of the device, DeviceAsync memory gets no such wait (R-ALC-03). The device is
  /// that of the allocation's context (measured), or of `context`, the caller's, if it is not known.
  /// No-op when nothing lives at `base`. Ends in returned().
  void free(Call call, ContextId context, Address base);
  /// R-SOA-03: an operation of `stream`; every access must be before it.
  /// R-SOA-04, for this and free(): what a later call does with the memory is a UseAfterFree, a second free too, until
  /// the range is allocated again. The call that submits it must have succeeded.
  OpId free_async(Call call, StreamId stream, Address base);
  /// R-VMM-01: ends every allocation inside the range. Like free() without the assumed wait.
  void unmap(Call call, ContextId context, Range range);
  /// R-CPY-08, of the allocation that holds the address.
  void sync_memory(Address address, bool on);
  /// The allocation that holds the address, blocks aside; or a block that no allocation holds; or nullptr. Valid until
  /// the next non-const call.
  [[nodiscard]] const AllocationInfo* find_allocation(Address address) const;
  /// The kind of memory at an address of a copy: an array that is not known, whose address is 0, lies on the device,
  /// and memory that was not allocated here is pageable.
  [[nodiscard]] MemoryKind kind_at(Address address) const;
  /// The live allocations that meet the range, by address, then the live blocks of pools that do.
  void visit_memory(Range range, const std::function<void(const AllocationInfo&)>& visit) const;

  // ---- operations: each is one step of its stream and returns its number --------------------------------------------
  /// `pointers` become inferred accesses, `bytes` exact ones (learned ones if the shape says so).
  OpId launch(Call call, StreamId stream, const LaunchShape& shape, std::span<const PointerArgument> pointers,
              std::span<const KernelBytes> bytes = {});
  /// The kinds of memory on both sides, and so the row of the copy matrix, are found from the addresses (R-CPY-19).
  /// The host part (what is waited for, what is complete at return) takes effect in returned().
  /// A zero-byte copy is not an operation (R-CPY-23) and returns kNoOp.
  /// In a legacy stream, between memories of two devices: an action of the legacy streams of both, too (R-CPY-40).
  OpId copy(Call call, StreamId stream, const Footprint& dst, const Footprint& src, Form form);
  OpId fill(Call call, StreamId stream, const Footprint& dst, Form form);
  /// R-CPY-30: copies that are one operation, without order among themselves; what one does to the memory of another
  /// is not compared. The host knows as much as after the one of them that it would wait for longest. R-CPY-54: a part
  /// that only writes is a discard, which `source` tells. Ends in returned(). Without bytes in any part: as a copy.
  OpId batch(Call call, StreamId stream, std::span<const BatchPart> parts, AccessSource source = AccessSource::Copy);
  OpId host_function(Call call, StreamId stream);
  /// An operation without modelled accesses: prefetch, attach, write value. `for_host`: the host may be waiting for it,
  /// because it gives the host a value or lets it touch memory.
  OpId stream_action(Call call, StreamId stream, bool for_host = false);
  /// As stream_action, but also after everything submitted so far in any stream (see api::EffectKind).
  OpId stream_joins_all(Call call, StreamId stream);
  /// R-GRF-35: after earlier launches of the same executable graph, in any stream. `exec` is any key unique for its
  /// life. This form knows nothing of the nodes.
  OpId graph_launch(Call call, StreamId stream, std::uint64_t exec);
  /// R-GRF-20..31, 45: the same of a graph whose nodes are known: each touches what it touches (graph.h). Events of
  /// nodes must have been made by create_event().
  OpId graph_launch(Call call, StreamId stream, std::uint64_t exec, const Graph& graph);
  /// The executable graph was made, or given other nodes: they have the addresses of what lives now. R-ANN-04: a launch
  /// that uses a block which went back since then is a UseAfterFree. Without this call none is looked for.
  void graph_made(std::uint64_t exec);
  /// R-GRF-27: an operation that touches what the node does, if it runs at all. For check_graph().
  OpId conditional_node(Call call, StreamId stream, const GraphNode& node);

  // ---- order --------------------------------------------------------------------------------------------------------
  OpId record_event(Call call, StreamId stream, EventId event);
  /// R-LCH-03/04: the launch of the stream's last kernel records the event itself: when the kernel begins, or when it
  /// triggers. Whoever waits for it comes after what was in front of the kernel. `ends_first`: as far as is known the
  /// kernel does not trigger before it ends.
  OpId record_by_launch(Call call, StreamId stream, EventId event, bool ends_first);
  OpId wait_event(Call call, StreamId stream, EventId event);
  /// R-EVT-17: the event captures all streams of the contexts, of which there is at least one.
  OpId record_event_of(Call call, std::span<const ContextId> contexts, EventId event);
  /// R-EVT-18: all later work of the contexts waits, that of streams made later, too. A synchronisation with any of it
  /// covers what the event captured, whether or not there is later work.
  OpId wait_event_by(Call call, std::span<const ContextId> contexts, EventId event);
  /// The three below take the snapshot; the edge to the host is made by returned().
  void sync_stream(Call call, StreamId stream);
  void sync_event(Call call, EventId event);
  void sync_context(Call call, ContextId context);
  /// For an event whose record was not seen (an event of another process): counts as recorded after all work of the
  /// context.
  void sync_unseen(Call call, ContextId context);
  /// A query of the stream or event succeeded: edge to the host at once.
  void query_stream_succeeded(Call call, StreamId stream);
  void query_event_succeeded(Call call, EventId event);
  /// The thread's blocking call (copy, fill, free, sync) has returned. `ok` false: it failed, no edge (R-SYN-05).
  /// Must be called after every copy, fill, free, unmap and sync_*, once the real call has returned.
  void returned(ThreadId thread, bool ok);

  // ---- what the host does to memory ---------------------------------------------------------------------------------
  /// The host itself touches the bytes now.
  void host_access(Call call, Range range, AccessMode mode);
  /// The host frees memory that it did not get from CUDA (free, munmap, a stack frame): this ends registered memory in
  /// the range, and pageable memory that copies were given. Pageable memory has no allocation; an asynchronous copy
  /// from or to it borrows the range until the host knows the copy to be complete. That today's driver has read
  /// (R-CPY-13) or written (R-CPY-14) it when the call returns counts in the assumed clock only.
  void host_free(Call call, Range range);
  /// Something that the model does not know lives in the range from now on: what was freed there is forgotten.
  void forget_freed(Range range);

  // ---- blocks of the program's own pools (annotations) --------------------------------------------------------------
  /// A pool hands out a block of memory that it holds, for use in `stream`; without one (nullopt) for use by everybody
  /// at once. R-ANN-01: every access of the block's earlier lives must be before that, or before the work of a stream
  /// that block_use() declared, which makes it the pool's own business: else a ReuseWhileInUse. From here on the block
  /// is an allocation of its own inside of the one that holds it, and ends with it. A block of memory that the model
  /// does not know counts as pageable. A live block that overlaps is ended first, without a hazard.
  AllocationId block_allocate(Call call, std::optional<StreamId> stream, Range range);
  /// The block goes back: its bytes may be handed out again to work that follows in `stream`, or at once (nullopt).
  /// R-ANN-02: what is not before that is a ReleaseWhileInUse: a promise broken, and no harm until the block is handed
  /// out again. No-op when no block begins at `base`.
  void block_free(Call call, std::optional<StreamId> stream, Address base);
  /// The pool knows that `stream` uses the block, too, and waits for what is submitted there up to the block's free.
  void block_use(Call call, StreamId stream, Address base);
  /// The same two calls for pools that state neither a stream nor that the host has waited. When the block begins,
  /// nothing is checked: each access in this life is compared with the accesses of earlier lives as if they were of
  /// this one, and an unordered pair is a ReuseWhileInUse whose `later` is that access. When it ends, nothing is
  /// compared. For a block that block_allocate() made, the second call is block_free() in the stream that the block was
  /// handed out for, or at once.
  AllocationId block_allocate_without_stream(Call call, Range range);
  void block_free_without_stream(Call call, Address base);
  /// The same of any block whose pool may still wait for streams, before it hands the block out again: nothing is
  /// compared.
  void block_free_unchecked(Call call, Address base);
  /// A pool hands out the bytes to somebody that the model does not know: live blocks there end, without a hazard.
  void forget_blocks(Range range);
  /// The live block that begins at the address, or nullptr. Valid until the next non-const call.
  [[nodiscard]] const AllocationInfo* find_block(Address base) const;

  // ---- order that the program makes by other means (annotations) ----------------------------------------------------
  /// R-ANN-03: what the stream was given up to now, or what the calling thread knows (nullopt), is before everything
  /// after a later await() of the object. Signals add up, unlike records of an event. `object` is any key.
  void signal(Call call, std::optional<StreamId> stream, std::uint64_t object);
  void await(Call call, std::optional<StreamId> stream, std::uint64_t object);

  // ---- order between host threads (Seen and Strict); `moment` is any number that grows with the calls ---------------
  /// Whatever is called from here on happens at the moment.
  void at(std::uint64_t moment);
  /// R-SYN-10: from now on the thread knows what the earlier one knew at the moment, and comes after what it submitted.
  void thread_after(ThreadId later, ThreadId earlier, std::uint64_t moment);
  /// The same of all threads, now.
  void thread_after_all(ThreadId later);
  /// The thread synchronises by means that are not seen, too.
  void thread_hides_order(ThreadId thread);

  // ---- questions about order, of the base, for advice; they change nothing ------------------------------------------
  /// Where the event was last recorded; nullopt: nowhere.
  [[nodiscard]] std::optional<Moment> last_record(EventId event) const;
  /// The last operation of the stream; nullopt: it had none.
  [[nodiscard]] std::optional<Moment> last_operation(StreamId stream) const;
  /// Is the last operation of the stream after the moment, by documented edges? Or what the thread does now? Where the
  /// order of threads is seen: or would it be, if they were joined? Advice rests on nothing that may have been missed.
  [[nodiscard]] bool is_after(StreamId stream, Moment moment) const;
  [[nodiscard]] bool is_after(ThreadId thread, Moment moment) const;

  /// The trace has ended: reports the operations that nothing waited for (Exposure::Why::End).
  void end_of_trace();

  [[nodiscard]] Statistics statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace streamsan::ordering

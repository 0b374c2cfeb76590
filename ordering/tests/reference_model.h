// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference model: the specification at the top of ordering/model.h, word for word and as slow as that is.
//
// Every operation, and every point where a host thread gets to know something, is a node. Every rule that orders adds
// an edge, documented or assumed, to nodes that exist already. "a is before b" is a backward search from b. Every
// access is kept for ever and every new one is compared with all earlier ones of its allocation. No clock, no laziness,
// no summary, nothing forgotten: whatever the fast model does to be fast is absent here, so that the two can only agree
// by being right.
//
// It has the member functions of Model, so that one interpreter drives both (random_program.h), and numbers streams,
// events, allocations and operations in the same way. certainty() is shared: it has no state, and a table of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "ordering/graph.h"
#include "ordering/model.h"

namespace streamsan::ordering {

class ReferenceModel {
 public:
  struct Pair {
    OpId earlier{};
    OpId later{};
    AllocationId allocation{};
    HazardKind kind{};
    Order order{};
    Certainty certainty{};
    bool perhaps_signalled = false;
    bool perhaps_passed_on = false;
    bool all_exact = true;  ///< every access to the memory so far was exact, and none is latent by its nature alone
  };

  /// `cut`: order that the program does without (what_if.h).
  explicit ReferenceModel(Options options, std::optional<Cut> cut = std::nullopt) : options_(options), cut_(cut) {}

  /// Does a launch come after the kernel in front of it whatever its attributes are, and does an event that it records?
  /// As in a what-if.
  bool plain_launches = false;

  /// Only if the order of threads is seen. A launch was taken for an ordinary one because another thread, but not its
  /// own, knew that the work in front of it is over. Threads that are joined know that, and then it may overlap more.
  bool overlaps_more_if_joined = false;

  StreamId create_stream(ContextId context, StreamKind kind);
  StreamId legacy_stream(ContextId context);
  StreamId per_thread_stream(ContextId context, ThreadId thread);
  void destroy_stream(StreamId) {}
  EventId create_event(EventTiming timing = EventTiming::On) {
    const EventId event{++events_made_};
    if (timing == EventTiming::Off) without_timing_.insert(event);
    return event;
  }
  void destroy_event(EventId event) {
    records_.erase(event);
    destroyed_.insert(event);
  }

  AllocationId allocate(Call call, Range range, MemoryKind kind, std::optional<ContextId> context = std::nullopt);
  AllocationId allocate_async(Call call, StreamId stream, Range range, bool on_its_device = true);
  void free(Call call, ContextId context, Address base);
  OpId free_async(Call call, StreamId stream, Address base);
  void unmap(Call call, ContextId context, Range range);
  void sync_memory(Address address, bool on) {
    if (Memory* memory = outer_at(address)) memory->syncs = on;
  }

  OpId launch(Call call, StreamId stream, const LaunchShape& shape, std::span<const PointerArgument> pointers,
              std::span<const KernelBytes> bytes = {});
  OpId copy(Call call, StreamId stream, const Footprint& dst, const Footprint& src, Form form);
  OpId fill(Call call, StreamId stream, const Footprint& dst, Form form);
  OpId batch(Call call, StreamId stream, std::span<const BatchPart> parts, AccessSource source = AccessSource::Copy);
  OpId host_function(Call call, StreamId stream);
  OpId stream_action(Call call, StreamId stream);
  OpId stream_joins_all(Call call, StreamId stream);
  OpId graph_launch(Call call, StreamId stream, std::uint64_t exec);
  OpId graph_launch(Call call, StreamId stream, std::uint64_t exec, const Graph& graph);
  /// The unordered pairs inside of the graph. Their operations have the numbers of the nodes, from 1 in their order.
  [[nodiscard]] std::vector<Pair> check_graph(const Graph& graph) const;

  OpId record_event(Call call, StreamId stream, EventId event);
  OpId record_by_launch(Call call, StreamId stream, EventId event, bool ends_first);
  OpId wait_event(Call call, StreamId stream, EventId event);
  OpId record_event_of(Call call, std::span<const ContextId> contexts, EventId event);
  OpId wait_event_by(Call call, std::span<const ContextId> contexts, EventId event);
  void sync_stream(Call call, StreamId stream);
  void sync_event(Call call, EventId event);
  void sync_context(Call call, ContextId context);
  void query_stream_succeeded(Call call, StreamId stream);
  void query_event_succeeded(Call call, EventId event);
  void returned(ThreadId thread, bool ok);
  void at(std::uint64_t moment) { moment_ = moment; }
  void thread_after(ThreadId later, ThreadId earlier, std::uint64_t moment);
  void thread_after_all(ThreadId later);
  void thread_hides_order(ThreadId thread) { hiding_.insert(thread); }
  void host_access(Call call, Range range, AccessMode mode);
  void host_free(Call call, Range range);

  AllocationId block_allocate(Call call, std::optional<StreamId> stream, Range range);
  void block_free(Call call, std::optional<StreamId> stream, Address base);
  void block_use(Call call, StreamId stream, Address base);
  void signal(Call call, std::optional<StreamId> stream, std::uint64_t object);
  void await(Call call, std::optional<StreamId> stream, std::uint64_t object);

  /// Every unordered or latent pair, in the order of the later operations.
  [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }
  /// The number that the last operation got; kNoOp: there was none.
  [[nodiscard]] OpId last_operation() const { return OpId{operations_}; }
  /// Two operations of streams, by documented edges or by assumed ones, too.
  [[nodiscard]] bool is_before(OpId earlier, OpId later, bool also_assumed) const;
  /// The host thread has waited for it, or for something after it.
  [[nodiscard]] bool is_known(OpId earlier, ThreadId thread, bool also_assumed) const;

 private:
  using Node = std::size_t;
  struct Edges {
    std::vector<Node> documented;
    std::vector<Node> assumed;  ///< besides the documented ones
  };
  /// A kernel is several nodes: what comes before its first instruction, what before those behind its wait, what it
  /// does, and what its end says to a kernel that waits for it (R-LCH-02). Its node in the stream is after all of them.
  struct Kernel {
    static constexpr Node kNone = ~Node{0};
    Node node = kNone;
    Node start = 0;
    Node waited = 0;
    Node done = 0;
    Node end = 0;
    bool waits = true;
  };
  struct Stream {
    ContextId context{};
    StreamKind kind{};
    std::vector<Node> nodes;
    std::vector<Node> actions;  ///< those that are actions in the sense of R-STR-10
    Kernel last_kernel;
    std::vector<Node> recorders;        ///< what the threads of the records right behind it knew
    Node right_behind = Kernel::kNone;  ///< the last kernel, or the last of the records without timing right behind it
  };
  struct PastAccess {
    Node node = 0;
    Access access;
  };
  /// A point at which a host thread got to know something.
  struct HostPoint {
    ThreadId thread{};
    std::uint64_t moment = 0;
    Node node = 0;
    std::vector<bool> knows;    ///< the nodes that are before it
    std::vector<bool> assumes;  ///< by assumed edges, too
  };
  struct Memory {
    AllocationId id{};
    Range range;
    MemoryKind kind{};
    std::optional<ContextId> device{};  ///< that holds it, if it lies on one
    std::vector<PastAccess> past;
    bool all_exact = true;
    bool block = false;
    bool syncs = false;           ///< R-CPY-08
    std::set<StreamId> declared;  ///< a block: streams that the pool knows of
    std::vector<Node> waited;     ///< an earlier life of a block: where those streams were at its end
  };
  /// The end of a life, and later uses of it.
  struct Freed {
    AllocationId id{};
    Range range;
    MemoryKind kind{};
    OpId op{};
  };
  /// What a thread's blocking call does when it has returned.
  struct Returning {
    SiteId site{};
    std::optional<Edges> learns;
    std::optional<Freed> freed;
    std::optional<std::pair<OpId, Address>> second_free;
  };
  struct Loan {
    Node node = 0;
    OpId op{};
    Footprint bytes;
    bool conditional = false;  ///< a copy in the body of a conditional node
    bool in_place = false;     ///< of a batch, and used after the call
  };
  struct CopyEffect {
    bool prior = false;     ///< everything earlier in the stream
    bool complete = false;  ///< the operation itself
  };

  [[nodiscard]] bool is_cut(const Cut& cut) const { return cut_ == cut; }
  Node new_node();
  /// `action`: in the sense of R-STR-10. `also`: other contexts for whose legacy streams it is one.
  Node new_operation(Call call, StreamId stream, bool action, const std::set<ContextId>& also = {});
  /// R-CPY-40: the devices on both sides of a copy between two, in a legacy stream; all, where one is not known.
  std::set<ContextId> devices_between(StreamId stream, Address dst, Address src);
  Stream& stream(StreamId id) { return streams_[static_cast<std::size_t>(id) - 1]; }
  std::uint32_t host_of(ThreadId thread) const;
  std::vector<Node> covered_by_stream(StreamId id);
  std::vector<Node> covered_by_context(ContextId context) const;
  void host_learns(ThreadId thread, const Edges& edges);
  /// What host threads knew at those points.
  void host_learns_of(ThreadId later, const std::function<bool(const HostPoint&)>& counts);
  void set_copy_effect(Call call, Node copy, const std::vector<Node>& prior, CopyEffect documented, CopyEffect assumed);
  /// What the host functions so far may have signalled to the host.
  [[nodiscard]] std::vector<bool> signalled() const;
  [[nodiscard]] std::vector<bool> before(Node node, bool also_assumed) const;
  /// Would the edge that is missing between two host threads, if threads were joined, order the pair?
  enum class PassedOn : std::uint8_t { No, Perhaps, ByAssumption };

  [[nodiscard]] bool sees_threads() const;
  /// What any thread knows by now.
  [[nodiscard]] std::vector<bool> known_to_anybody(bool also_assumed) const;
  /// A host function was submitted: see signalled().
  void note_signals();
  /// R-SYN-10: another thread knew that the earlier one is complete, and may have passed that on. `assumed`: assumed
  /// edges order the two anyway.
  [[nodiscard]] PassedOn passed_on(Node node, OpId earlier, const Access& later, bool assumed) const;
  [[nodiscard]] bool was_handed_over_too_early(Node node, OpId earlier, const Access& later) const;

  Memory* outer_at(Address address);  ///< not a block
  Memory* block_at(Address address);
  Memory* memory_at(Address address);  ///< the block, or else the outer one
  MemoryKind kind_at(Address address);
  bool syncs(Address address) {
    const Memory* memory = outer_at(address);
    return memory && memory->syncs;
  }
  /// All bytes of the range that something holds, with what holds them.
  std::vector<std::pair<Memory*, Range>> held(Range range);
  /// Compares with everything past in `memory`; `name` and `whole` are those of the memory that is reported.
  void compare(const Memory& memory, AllocationId name, Range whole, Node node, const Access& later,
               std::optional<HazardKind> kind);
  /// A node that is after this one and those.
  Node after(Node node, const std::vector<Node>& others);
  /// `start`: what the access comes after; `done`: what comes after it.
  void access(Memory& memory, Node start, Node done, const Access& access);
  void touch(Node start, Node done, const Footprint& footprint, Access access);
  /// The host touches the range at a point of its own.
  void touch_by_host(Node node, Range range, Access touch);
  void touch_kernel(const Kernel& kernel, const Access& made, const LaunchShape& shape,
                    std::span<const PointerArgument> pointers, std::span<const KernelBytes> bytes);
  /// What a node of a graph does.
  void run_node(Node at, const GraphNode& node, Access made, std::optional<ContextId> context);
  void end_life(Node node, OpId op, Address base);
  Kernel new_kernel(Call call, StreamId stream, const Dependence& dependence);
  /// The stream's next operation is right behind a kernel, or behind records without timing right behind it.
  bool is_right_behind_kernel(StreamId id);
  /// Has the operation come after anything but the one in front of it and what its thread knows, or any thread?
  bool joins_more(Node node, Node front, std::optional<ThreadId> thread) const;
  /// The same of an operation right behind a kernel; notes overlaps_more_if_joined.
  bool joins_more_than_front(Node node, Node front, ThreadId thread);
  void use_freed(OpId op, Address address, std::optional<Certainty> ordinary, std::optional<Certainty> stream_ordered);
  void free_again(OpId op, Address base);
  Node host_node(ThreadId thread);
  Node point(Call call, std::optional<StreamId> stream);
  /// A free of all of it: compares with its past, that of its blocks and of their earlier lives.
  void check_end(const Memory& memory, Node node, OpId op);
  void end(Range range);

  Options options_;
  std::optional<Cut> cut_;
  std::vector<Edges> nodes_;
  std::vector<Stream> streams_;
  std::set<ContextId> contexts_;
  std::map<std::uint64_t, StreamId> per_thread_;       ///< by context and thread
  std::map<ContextId, StreamId> recorders_;            ///< streams of the records of whole contexts
  std::map<ContextId, std::vector<Node>> waited_for_;  ///< by whole contexts
  std::map<EventId, Node> records_;
  std::map<std::uint32_t, Node> last_host_node_;
  std::map<ThreadId, Returning> pending_;
  std::map<std::uint64_t, Node> last_graph_launch_;
  std::vector<Memory> memories_;
  std::vector<Memory> retired_;  ///< earlier lives of blocks
  std::vector<Freed> freed_;
  std::vector<Loan> loans_;
  std::map<std::uint64_t, std::vector<Node>> objects_;
  std::vector<Node> host_functions_;
  std::map<Node, std::set<Node>> doubts_;  ///< start or wait of a kernel: what may, or may not, be running
  std::vector<Pair> pairs_;
  std::map<OpId, Node> node_of_;     ///< of operations of streams
  std::vector<Node> inside_graphs_;  ///< beginnings and nodes of launches, which an event of the graph may stand for
  std::uint32_t events_made_ = 0;
  std::set<EventId> without_timing_;
  std::set<EventId> destroyed_;
  std::uint64_t allocations_made_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t moment_ = 0;
  ThreadId caller_{};
  std::vector<HostPoint> host_points_;
  std::vector<bool> known_when_signalled_;
  std::map<std::pair<ThreadId, ThreadId>, std::uint64_t> seen_;  ///< later and earlier thread: up to when
  std::set<ThreadId> hiding_;
  std::map<OpId, std::pair<ThreadId, std::uint64_t>> submitted_;  ///< by whom, and when
};

}  // namespace streamsan::ordering

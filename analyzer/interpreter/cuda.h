// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of CUDA by the interpreted program, handed to the model of order. See cuda.cpp.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/interpreter/empty_waits.h"
#include "analyzer/interpreter/kernel_handles.h"
#include "analyzer/interpreter/machine.h"
#include "analyzer/interpreter/staged_copies.h"
#include "analyzer/lowering/kernel_effects.h"
#include "analyzer/lowering/symbols.h"
#include "analyzer/models/host_calls.h"
#include "analyzer/models/model.h"
#include "ordering/model.h"

namespace clang {
class FunctionDecl;
class ParmVarDecl;
}  // namespace clang

namespace streamsan::analyzer {
class HostModule;
}

namespace streamsan::analyzer::interpreter {

inline ordering::Footprint linear(Word base, Word bytes) {
  return {.base = base, .width = bytes, .pitch = 0, .rows = 1, .slices = 1, .slice_pitch = 0};
}

inline ordering::ContextId context_of(Word device) {
  return ordering::ContextId{static_cast<std::uint32_t>(device + 1)};
}

inline constexpr Word kDevices = 2;  ///< number of devices of the made-up machine

/// Where the program makes a call: the instructions under way, innermost first.
using Place = std::vector<const llvm::Instruction*>;

/// An event recorded in a stream of another device than its own: the call fails.
struct FailingRecord {
  ordering::SiteId site{};
  ordering::EventId event{};
  ordering::StreamId stream{};
  Word event_device = 0, stream_device = 0;
};

/// Something waits for an event that was recorded in a stream, or should have been.
struct EventOrder {
  ordering::StreamId from{};
  std::optional<ordering::StreamId> to;  ///< nullopt: the host waits
  ordering::SiteId recorded{}, waited{};
};

class Cuda {
 public:
  Cuda(Symbols& symbols, const HostModule& host, ordering::HazardSink& sink, bool per_thread_default_stream);

  Outcome call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result);
  /// Is it a library function with a body in a header, whose effect is known without running it?
  bool takes(const llvm::Function& function);
  /// Reports the host's last accesses.
  void flush();
  /// An unknown call may have waited: from now on the host knows that all work is done.
  void may_wait(Machine& machine);
  void touch(Machine& machine, Word address, std::size_t size, bool write);
  /// Called when the host function may have ended, or another thread gets its turn. The accesses of the host function
  /// become work of its stream, and the host may know that this work is done.
  void end_host_function(Machine& machine);
  void host_freed(Machine& machine, Word address, std::size_t size);

  [[nodiscard]] const Place& place(ordering::SiteId site) const { return places_[static_cast<std::size_t>(site)]; }
  [[nodiscard]] std::size_t sites() const { return places_.size(); }
  /// A piece of a thread's work, up to where it takes a lock again.
  struct Turn {
    std::size_t thread = 0, turns = 0;
    bool locked = false;  ///< it holds a lock
  };
  [[nodiscard]] const Turn& turn(ordering::SiteId site) const { return turns_[static_cast<std::size_t>(site)]; }
  /// The name of the operation at a site: "kernel 'scale'".
  [[nodiscard]] const std::string& name(ordering::SiteId site) const { return names_[static_cast<std::size_t>(site)]; }
  /// The name of the kernel that was launched at the site; empty: none was.
  [[nodiscard]] std::string kernel(ordering::SiteId site) const;
  /// The work at this site is part of a graph that is launched.
  [[nodiscard]] bool is_of_graph(ordering::SiteId site) const { return of_graphs_.contains(site); }
  /// Where the work of this site was captured; nullopt: it is not part of a graph.
  [[nodiscard]] std::optional<ordering::SiteId> captured(ordering::SiteId site) const {
    const auto found = of_graphs_.find(site);
    return found == of_graphs_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Where the program has allocated memory.
  [[nodiscard]] const std::vector<ordering::SiteId>& allocations() const { return allocations_; }
  [[nodiscard]] std::optional<ordering::SiteId> made(ordering::StreamId stream) const;
  [[nodiscard]] std::optional<ordering::SiteId> made(ordering::EventId event) const;
  std::function<void(const FailingRecord&)> on_failing_record;
  [[nodiscard]] std::vector<EmptyWait> empty_waits() const;
  [[nodiscard]] const EmptyWaits& waits_for_nothing() const { return empty_waits_; }
  std::function<void(const OvertakenCopy&)> on_overtaken_copy;
  /// The device of the thread is unknown until the program sets it.
  void lose_device(const Machine& machine);
  /// The number of the stream among those that were made at the same place, counted from 1.
  [[nodiscard]] std::size_t number(ordering::StreamId stream) const;
  [[nodiscard]] ordering::StreamKind kind(ordering::StreamId stream) const { return model_.kind_of(stream); }

  // What a made-up caller gives (callers.h).
  /// The numbers of parameters and fields that get host memory. All others get device memory.
  void keep_in_host(const std::set<Word>& given_as) {
    given_of_host_ = given_as;
    made_up_ = true;
  }
  /// For work that another thread does at the site: where the first thread was, in its outermost function, when that
  /// work was started. nullptr: the first thread does it itself, or it is not known.
  [[nodiscard]] const llvm::Instruction* woken_at(ordering::SiteId site) const {
    const auto found = woken_.find(site);
    return found == woken_.end() ? nullptr : found->second;
  }
  /// Where the host has waited for the GPU, or queried it.
  [[nodiscard]] const std::vector<ordering::SiteId>& waits() const { return waits_; }
  [[nodiscard]] bool only_asks(ordering::SiteId site) const { return asks_.contains(site); }
  /// An executable graph was made, changed or destroyed. `graph` is the address of the variable that it was stored in;
  /// 0: a local variable, which does not identify the graph.
  struct GraphChange {
    ordering::SiteId site{};
    Word graph = 0;
  };
  [[nodiscard]] const std::vector<GraphChange>& graph_changes() const { return graph_changes_; }
  /// The graph (GraphChange::graph) by which a captured operation is launched, at the site.
  [[nodiscard]] Word graph_of(ordering::SiteId launched) const {
    const auto found = launched_by_.find(launched);
    return found == launched_by_.end() ? 0 : found->second;
  }
  [[nodiscard]] const std::vector<ordering::SiteId>& frees() const { return frees_; }
  /// The number of the parameter or field that got this memory; nullopt: it is not the caller's.
  [[nodiscard]] std::optional<Word> given_as(Word address) const;
  [[nodiscard]] bool is_given(ordering::StreamId stream) const { return given_number(stream).has_value(); }
  struct Ended {
    Word handle = 0;
    ordering::StreamId stream{};
    ordering::SiteId site{};  ///< where it was destroyed
  };
  /// The ended stream that had the same handle; nullptr: none.
  [[nodiscard]] const Ended* had_handle(ordering::StreamId of) const {
    const auto found = had_handle_.find(of);
    return found == had_handle_.end() ? nullptr : &found->second;
  }
  /// Is it the per-thread default stream of a thread that the program has started?
  [[nodiscard]] bool is_of_other_thread(ordering::StreamId stream) const { return of_other_threads_.contains(stream); }
  /// Both are elements of one array of streams of the caller's: they are different ones.
  [[nodiscard]] bool are_several(ordering::StreamId a, ordering::StreamId b) const;
  [[nodiscard]] const std::vector<EventOrder>& orders() const { return orders_; }
  /// Where a call of the made-up caller has thrown: its arguments did not suit.
  [[nodiscard]] const std::vector<ordering::SiteId>& threw() const { return threw_; }

  // For the layers above (cuda_for_others.cpp). Streams are handles; `name`: of the operation, see name().
  [[nodiscard]] Word device(const Machine& machine);
  /// A stream that does not wait for the default one.
  Word make_stream(Machine& machine, const std::string& name);
  /// Arguments of a made-up caller: the stream with this number, memory of this size.
  Word given_stream(Machine& machine, Word number);
  Word given_memory(Machine& machine, Word bytes, bool of_host, Word given_as);
  void work(Machine& machine, const std::string& name, Word stream, const std::vector<ordering::KernelBytes>& bytes);
  void copy(Machine& machine, const std::string& name, Word stream, const ordering::Footprint& dst,
            const ordering::Footprint& src);
  void wait_for(Machine& machine, const std::string& name, Word stream);
  /// A block of a caching allocator. After it is returned, its memory is used again in the order of `stream`; a block
  /// of host memory has no stream and is used again at once. 0: there is no memory.
  Word take_block(Machine& machine, const std::string& name, std::optional<Word> stream, Word bytes);
  /// When the block is returned, the allocator waits for the work that is in the stream then.
  void use_block(Word stream, Word block);
  /// `at_once`: also a block of the caller's may be handed out again before the call is over.
  void return_block(Machine& machine, const std::string& name, Word block, bool at_once);
  /// From now on this memory of the caller's is a block of a caching allocator, for `stream`. The caller holds the
  /// block as well, until the call that got it is over.
  void lend(Machine& machine, Word stream, Word block);
  [[nodiscard]] bool is_lent(Word block) const;
  /// The program writes the block, so the caller keeps it for the result.
  void keep_lent(Word block);
  /// A call of the caller's is over: returned blocks may be handed out again, also on the caller's streams.
  void hand_out_again(Machine& machine);

 private:
  struct Touch {
    const llvm::Instruction* by = nullptr;
    std::size_t depth = 0;
    std::uint64_t events = 0;
    bool write = false;
    friend bool operator==(const Touch&, const Touch&) = default;
  };
  using Action = std::function<void(ordering::Call, ordering::StreamId)>;
  struct Captured {
    ordering::SiteId site{};
    Action action;
  };
  /// A parameter of a kernel, with its bytes in the program's memory.
  struct Parameter {
    const clang::ParmVarDecl* declared = nullptr;
    Word at = 0;
    std::size_t size = 0;
    /// The value of a number. 0: the parameter is not a number.
    [[nodiscard]] Word value() const;
  };

  struct ValueWrite {
    Word value = 0;
    ordering::EventId written{};  ///< an event that is recorded behind the write
  };

  /// A block of a caching allocator, and the stream that it is for.
  struct Returned {
    ordering::Range range{};
    std::optional<Word> stream;
    bool given = false;  ///< it is the caller's, who holds it as well
  };
  /// A block that the program has returned while a call of the caller's is under way.
  struct Held {
    Returned block;
    ordering::Call call;
  };

  Outcome called(Machine& machine, const llvm::Function& function, const std::string& name, const Arguments& arguments,
                 Byte* result);
  ordering::Call now(Machine& machine, std::string name);
  ordering::StreamId stream(Word handle);
  ordering::EventId event(Word handle);
  void record(Word stream, ordering::Call call, Word event);
  void wait(Word stream, ordering::Call call, Word event);
  void enqueue(Word stream, ordering::Call call, const Action& action);
  void finish() { model_.returned(thread_, true); }
  /// `first`: its first argument.
  void note_changes(const api::Effect& effect, Word first, ordering::SiteId site);
  void asked(ordering::SiteId site) {
    waits_.push_back(site);
    asks_.insert(site);
  }
  class Effects;  ///< of one call
  /// Another writer has changed the words there.
  void forget_values(Word begin, Word end) {
    value_writes_.erase(value_writes_.lower_bound(begin), value_writes_.lower_bound(end));
  }
  /// Words that streams write and wait for. False: `what` is no such call, or the writer is not known.
  bool value_operation(Machine& machine, HostCall what, Word stream, ordering::Call call, const Arguments& arguments);
  /// A call of a message-passing library. False: `name` is not one of its functions.
  bool message(Machine& machine, const Model* model, std::string_view name, const Arguments& arguments);
  void map(Machine& machine, ordering::Call call, ordering::Range range);
  /// Answers a query about devices, streams or memory. False: `what` is no query.
  bool property(Machine& machine, HostCall what, const Arguments& arguments, Byte* result);
  bool device_properties(Machine& machine, const Arguments& arguments);
  /// False: `what` is no part of a launch.
  bool launch(Machine& machine, HostCall what, const Arguments& arguments);
  void push_configuration(Machine& machine, const Arguments& arguments);
  void pop_configuration(Machine& machine, const Arguments& arguments);
  /// By a CUfunction.
  void launch_function(Machine& machine, const Arguments& arguments);
  /// Makes an argument for a caller (callers.h). False: `name` is no function for that.
  bool give(Machine& machine, std::string_view name, const Arguments& arguments, Byte* result);
  Word give_memory(Machine& machine, const Arguments& arguments);
  Word give_stream(Machine& machine, const Arguments& arguments);
  Word give_stream_of(Machine& machine, const Arguments& arguments);
  Word give_event(Machine& machine, const Arguments& arguments);
  Word on_device(Machine& machine, const Arguments& arguments);
  Word threw(Machine& machine, const Arguments& arguments);
  [[nodiscard]] std::optional<Word> given_number(ordering::StreamId stream) const;
  Word call_back(Machine& machine, const Arguments& arguments);
  /// False: the bytes end behind their block, because made-up numbers do not fit each other; the machine has stopped.
  bool fits(Machine& machine, Word address, Word bytes);
  /// False: one side of a copy must be host memory, but the caller passed device memory; the machine has stopped.
  bool sides_are_right(Machine& machine, const Model& model, const Arguments& arguments, Word dst, Word src);
  [[nodiscard]] bool fills(const Parameter& pointer, Word address, const std::vector<Parameter>& given,
                           std::uint32_t limits) const;
  /// Enqueues a launch that is ready.
  void submit(Word stream, ordering::Call call, const ordering::LaunchShape& shape,
              std::vector<ordering::PointerArgument> pointers, std::vector<ordering::KernelBytes> bytes);
  void launch_plain(Machine& machine, const Arguments& arguments);
  /// With a cudaLaunchConfig_t.
  void launch_configured(Machine& machine, const Arguments& arguments);
  /// The extents of a launch, by x, y and z.
  struct Shape {
    std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
    [[nodiscard]] std::uint64_t threads() const;
  };
  void launch_kernel(Machine& machine, const llvm::Function& stub, const Shape& shape, Word parameters, Word stream,
                     bool overlaps);
  /// Adds the bytes that the kernel certainly touches, also those that do not begin at a pointer.
  void add_exact(Machine& machine, const clang::FunctionDecl& kernel, const Shape& shape,
                 const std::vector<Parameter>& given, std::vector<ordering::KernelBytes>& bytes) const;
  /// Keeps pointers that are copied to device memory; forgets those that are overwritten.
  void keep_pointers(Machine& machine, Word to, Word from, Word bytes);
  void forget_pointers(Word at, Word bytes);
  Outcome copy_batch(Machine& machine, const Model& model, const Arguments& arguments);
  /// A pointer in memory that the GPU reads; nullopt: it is not known.
  std::optional<Word> pointer_at(Machine& machine, Word address) const;
  void library_work(Machine& machine, const llvm::Function& function, const Model& model, const Arguments& arguments);
  /// The declaration of a function of the module; nullptr: there is none.
  [[nodiscard]] const clang::FunctionDecl* declared(const llvm::Function& function) const;
  /// By the name that the program calls it by; nullptr: there is none.
  const Model* spelled(const std::string& name, std::size_t arguments) const;
  /// nullopt: they are not in the program's memory.
  std::optional<std::vector<Parameter>> parameters_of(Machine& machine, const clang::FunctionDecl& kernel,
                                                      Word list) const;
  /// The offset of "field" or "field.field". nullopt: there is no such field.
  [[nodiscard]] std::optional<std::size_t> offset_of(const clang::CXXRecordDecl& record, std::string_view path) const;
  void hand_out_again(Machine& machine, const Returned& block);
  void allocated(ordering::Call call, ordering::Range memory, ordering::MemoryKind kind);
  ordering::FunctionId number_of(const std::string& function);
  [[nodiscard]] Word known_device(const Machine& machine) const;
  void order(Word event, ordering::SiteId site, std::optional<ordering::StreamId> by);
  /// The memory that a library's handle works in.
  Word work_area(Machine& machine, Word handle);
  Word shadowed(Machine& machine, Word variable);

  Symbols& symbols_;
  const HostModule& host_;
  ordering::HazardSink& sink_;
  ordering::Model model_;
  KernelEffects kernels_;
  std::vector<Place> places_;
  std::vector<Turn> turns_;
  std::vector<std::string> names_;
  std::map<ordering::SiteId, std::string> launched_;  ///< kernels, by the site of their launch
  std::map<Word, ordering::StreamId> streams_;
  std::map<Word, ordering::EventId> events_;
  std::map<ordering::StreamId, ordering::SiteId> stream_sites_;
  std::map<ordering::EventId, ordering::SiteId> event_sites_;
  std::vector<Ended> ended_streams_;  ///< as with the driver, the next stream gets the handle of the last one
  std::map<ordering::StreamId, Ended> had_handle_;  ///< the stream that had this one's handle before
  std::map<Word, GridBehaviour> fronts_;            ///< the behaviour of the last kernel in a stream
  std::map<Word, Word> handle_streams_;             ///< the stream of a library's handle
  std::map<Word, Word> work_areas_;                 ///< the work area of a library's handle
  KernelHandles kernel_handles_;
  std::map<Word, Word> shadows_;  ///< variables of the device, by their counterparts on the host
  std::map<Word, std::vector<Captured>> graphs_;
  std::map<ordering::SiteId, ordering::SiteId> of_graphs_;
  std::vector<ordering::SiteId> allocations_;
  std::map<Word, Word> capturing_;  ///< stream -> graph
  std::map<Word, Word> capture_events_;
  bool made_up_ = false;
  std::map<ordering::SiteId, const llvm::Instruction*> woken_;
  std::vector<ordering::SiteId> waits_, frees_;
  std::vector<GraphChange> graph_changes_;
  std::map<Word, Word> graph_homes_;              ///< GraphChange::graph, by the handle of the graph
  std::map<ordering::SiteId, Word> launched_by_;  ///< the graph by which a captured operation is launched
  std::set<ordering::SiteId> asks_;
  std::map<ordering::EventId, std::pair<ordering::StreamId, ordering::SiteId>> records_;  ///< the last ones
  std::vector<EventOrder> orders_;
  EmptyWaits empty_waits_;
  /// A copy from `source`: of the host's memory, captured or not, or from elsewhere.
  void stage(Machine& machine, ordering::SiteId site, ordering::Range source, Word target, Word stream);
  /// If it is captured: which memory of the host's the graph needs from then on, gaps between rows included.
  void keep_sides(ordering::SiteId site, ordering::Range source, ordering::Range target, Word stream);
  /// The function may change a node of a graph: from then on it is not known what the graph copies from where.
  [[nodiscard]] bool edits_graph(const llvm::Function& function, const Model& model) const;
  void launch_captured(Machine& machine, Word graph, ordering::Call call, const std::string& name,
                       ordering::StreamId in);
  StagedCopies staged_;
  std::map<Word, ValueWrite> value_writes_;  ///< the last one, by address
  std::vector<ordering::SiteId> threw_;
  // The devices of handles that the program makes, and of those that callers make for a device.
  std::map<ordering::EventId, Word> event_devices_;
  std::map<ordering::StreamId, Word> stream_devices_;
  std::set<std::size_t> without_device_;   ///< threads whose device is not known
  bool for_device_ = false;                ///< the following arguments are made for a device
  std::map<Word, Word> reserved_;          ///< addresses without memory, begin -> end
  std::map<Word, Word> blocks_;            ///< blocks of memory, begin -> end
  std::map<Word, Word> pointers_;          ///< pointers that the host has copied to device memory
  std::set<Word> written_blocks_;          ///< host-readable blocks that kernels may have written
  std::map<Word, Returned> lent_blocks_;   ///< blocks in use of a caching allocator
  std::vector<Returned> returned_blocks_;  ///< returned blocks, not yet handed out again
  std::vector<Held> held_;
  std::set<Word> given_of_host_;
  std::vector<std::pair<ordering::Range, Word>> given_blocks_;  ///< and the parameter
  std::map<Word, Word> given_streams_;                          ///< handles of the caller's streams, by number
  std::map<std::string, std::uint32_t> functions_;              ///< numbers of kernels and library functions
  std::map<const llvm::Function*, const Model*> taken_;
  std::map<const clang::ParmVarDecl*, bool> dense_;  ///< device::is_dense() of a kernel's parameter
  /// Threads of the program take turns, so the order of their calls is known: to the model they are one thread.
  ordering::ThreadId thread_{1};
  ordering::ThreadId default_stream_of_{1};        ///< the calling thread: each has a per-thread default stream
  std::set<ordering::StreamId> of_other_threads_;  ///< per-thread default streams of threads other than the first
  bool per_thread_ = false;                        ///< stream 0 means the per-thread default stream
  Touch last_touch_;
  ordering::Call touch_call_;
  std::map<std::size_t, Word> devices_;  ///< the current device of each thread
  Word device_ = 0;                      ///< the device of the calling thread
  ordering::Range touched_{};            ///< accesses of touch_call_ that the model does not know yet
  /// A host function under way, of a stream.
  struct HostFunction {
    std::size_t thread = 0;
    std::size_t depth = 0;  ///< number of frames below it
    ordering::StreamId stream{};
    ordering::Call call;
    std::string name;
    std::vector<std::pair<ordering::Call, ordering::KernelBytes>> touches;
    bool settled = false;  ///< another thread has had its turn, and nothing was touched since
  };
  std::optional<HostFunction> host_function_;
  struct Launch {
    Word grid[2] = {1, 1};
    Word block[2] = {1, 1};
    Word shared = 0;
    Word stream = 0;
  };
  std::map<std::size_t, std::vector<Launch>> launches_;  ///< configured, and not yet made, by thread
};

}  // namespace streamsan::analyzer::interpreter

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The judge: reads one process's records in order and translates them into calls of the ordering model.
//
// One function for each record kind, and no knowledge of order in any of them: what orders what is decided in
// ordering/. What is decided here:
//   * BLOCKING CALLS come as two records. The first has the arguments; CallEnd says that the call has returned, and
//     only then does the model learn of the edge to the host (Model::returned). A call that does not block returns at
//     once. A CallEnd that never comes (the process died, the number of threads does not fit a record) counts as a
//     return: a race may be missed, none is invented.
//   * CAPTURED CALLS do not reach the model (handles.h). What they have put into a graph comes with its image
//     (graphs.h) when it is instantiated: then it is checked by itself, and each launch makes the accesses of its
//     nodes. Of those of one launch with one earlier operation and one allocation, the worst is reported and no other.
//   * ORDER THAT IS NOT SEEN. A few functions order work and are not modelled (api::Effect::hides_order). In a graph
//     without an image (of an older recorder, or too large) events that it records or waits for are such order, too.
//     From the first such call on, an edge may be missing behind any hazard, so all hazards are passed on as at most
//     possible.
//   * UNKNOWN FUNCTIONS. The trace may come from a recorder with a larger table (trace/functions.h). Their records say
//     what they did; such calls are counted and named like those of functions that are not modelled.
//   * FOOTPRINTS. A launch with a complete footprint (footprints.h) has the bytes that says, and no inferred accesses.
//     For a launch without, the kernel's code may give some or all of the bytes (code.h); if it gives all, it goes
//     before what an earlier launch with equal arguments touched. When a hazard is only
//     possible and measuring would decide it, the judge asks for its kernels (asking.h).
//   * DEPENDENT LAUNCHES. A kernel that is launched with programmatic serialisation may overlap the one in front of it
//     in its stream (ordering/dependents.h). What the two make of that stands in their code. Of a launched kernel
//     without code nothing is known, and it counts as an ordinary launch: libraries launch most of their kernels so,
//     and wait where they must.
//   * WHAT THE HOST DOES to memory, and what pools of the program do (lifetimes.cpp).
//   * WHAT THE PROGRAM SAYS of its run: its parts (marks.h), and where it must not wait (waits.cpp, hidden_syncs.h).
//   * SHADOWED DEFINITIONS: looking up the same module variable twice is not a new allocation.
//
// Hazards, and what becomes known about them later, go to the Hazards of the constructor. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/asking.h"
#include "judge/code.h"
#include "judge/event_misuse.h"
#include "judge/failed_calls.h"
#include "judge/footprints.h"
#include "judge/graphs.h"
#include "judge/handles.h"
#include "judge/hazards.h"
#include "judge/hidden_syncs.h"
#include "judge/measured_launches.h"
#include "judge/places.h"
#include "judge/releases.h"
#include "judge/textures.h"
#include "judge/value_waits.h"
#include "ordering/model.h"
#include "trace/reader.h"

namespace streamsan::judge {

inline constexpr std::uint16_t kOverflowThread = 0xffff;  ///< shared by the 65,535th and later threads

/// Sees each record after the judge has, with what it became.
class Observer {
 public:
  virtual ~Observer() = default;
  /// `first` to `last`: numbers of the operations that the record made; first > last: none.
  virtual void observe(const trace::Item& item, ordering::OpId first, ordering::OpId last) = 0;
};

class Judge : private ordering::HazardSink {
 public:
  Judge(ordering::Options options, Hazards& hazards, const ordering::WhatIf* what_if = nullptr)
      : hazards_(hazards),
        model_(options, *this, what_if),
        handles_(model_),
        event_misuse_(handles_, model_),
        graphs_(handles_, places_, [this](LaunchedKernel front, LaunchedKernel here) { return depends(front, here); }) {
    compares_ = what_if != nullptr;
  }
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  void consume(const trace::Item& item);
  /// The trace has ended. Needed for a replay with a what-if only.
  void finish() { model_.end_of_trace(); }
  /// Adds an observer, which must live as long as records come.
  void add_observer(Observer& observer) { observers_.push_back(&observer); }
  /// How to ask for a measurement; without it nothing is asked.
  void ask_through(Asking::Ask ask) { asking_.ask_through(std::move(ask)); }

  /// What the kernels' code says; off until it is switched on.
  [[nodiscard]] Code& code() { return code_; }

  [[nodiscard]] const ordering::Model& model() const { return model_; }
  [[nodiscard]] const Places& places() const { return places_; }
  [[nodiscard]] const Handles& handles() const { return handles_; }
  /// For observers: the place of the record's call (of a launch with `kernel` its index), and its stream (kinds with
  /// stream and context in w0 and w1).
  ordering::SiteId site_of(const trace::Record& record, std::uint32_t kernel = 0) { return call(record, kernel).site; }
  ordering::StreamId stream_of(const trace::Record& record);
  /// For observers: of the kinds that have them in other words.
  ordering::StreamId stream_of(std::uint64_t stream, std::uint64_t context, std::uint16_t thread) {
    return handles_.stream(stream, context, ordering::ThreadId{thread});
  }
  ordering::ContextId context_of(std::uint64_t context, std::uint16_t thread) {
    return handles_.context(context, ordering::ThreadId{thread});
  }
  /// The place of an action that was no CUDA call: touches and frees by the host, blocks of pools.
  ordering::SiteId site_outside(const trace::Item& item);
  /// What a launch touches, as far as it is known: measured, learned, computed, else by its pointers. After the records
  /// before it. Valid until the next record.
  const LaunchBytes& bytes_of(const trace::Item& launch) {
    return bytes_of(launch, (launch.record->flags & trace::kProgrammatic) != 0);
  }
  /// What the last launch touches, as the judge assumed; for observers of its record, until the next one.
  [[nodiscard]] const LaunchBytes& last_launch() const { return launch_bytes_; }
  /// What the recorder had to say, one line each.
  [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }
  /// Functions that were called and are not modelled: "cuGraphAddNode (3 calls)".
  [[nodiscard]] std::vector<std::string> unmodelled() const { return counted_functions(false); }
  /// The same of functions that named memory for other processes or devices.
  [[nodiscard]] std::vector<std::string> shared() const { return counted_functions(true); }
  /// The first thing that made order which is not seen: "cuCtxWaitEvent"; empty: nothing did.
  [[nodiscard]] const std::string& hidden_order() const { return hidden_order_; }
  /// How many executable graphs kernels may launch, which is not seen (R-GRF-50).
  [[nodiscard]] std::uint64_t graphs_of_kernels() const { return graphs_of_kernels_; }
  /// The call whose error ended all work of its context, and the checking with it; empty: none.
  [[nodiscard]] const std::string& ended_by() const { return ended_by_; }
  /// Waits for all work of a device, and how many of them had nothing to wait for; none at all where that is not sure:
  /// something was done that is not seen, or several threads use CUDA, of which each has to know for itself.
  struct DeviceWaits {
    std::uint64_t calls = 0;
    std::uint64_t idle = 0;
  };
  [[nodiscard]] DeviceWaits device_waits() const {
    if (!hidden_order_.empty() || !unmodelled_.empty() || callers_.size() > 1) return {};
    const ordering::Statistics counted = model_.statistics();
    return {counted.device_waits, counted.idle_device_waits};
  }
  /// Events that do nothing, as if the run ended here. None when some order is not seen.
  [[nodiscard]] std::vector<Misuse> event_misuse() {
    return hidden_order_.empty() ? event_misuse_.all() : std::vector<Misuse>();
  }
  [[nodiscard]] const FailedCalls& failed_calls() const { return failed_calls_; }
  [[nodiscard]] const HiddenSyncs& hidden_syncs() const { return hidden_syncs_; }
  [[nodiscard]] const MeasuredLaunches& measured_launches() const { return measured_launches_; }

 private:
  struct Unmodelled {
    std::string symbol;
    std::uint64_t calls = 0;
    bool shares = false;  ///< is no fault of this version
  };

  void hazard(const ordering::Hazard& hazard) override;
  bool wants_common_bytes(const ordering::Hazard& hazard) override { return hazards_.wants_common_bytes(hazard); }
  void ask_about(const ordering::Hazard& hazard);
  void note_release(const ordering::Hazard& hazard, std::uint32_t kept);
  /// What the record, which has been taken, means for releases that are open.
  void settle_releases(const trace::Record& record);
  void note_hidden_order(std::string_view what);
  void unmodelled(const trace::Item& item);
  void foreign_call(const trace::Item& item);
  [[nodiscard]] std::vector<std::string> counted_functions(bool that_share) const;
  Unmodelled& unmodelled_function(std::string_view symbol);
  const api::Row& row_of(const trace::Record& record) const { return places_.row_of(record.api); }
  ordering::Call call(const trace::Record& record, std::uint32_t kernel = 0);
  void take(const trace::Item& item);
  void blocks(const trace::Item& item);
  void finish_pending(ordering::ThreadId thread);

  /// `dependent`: also what it does before it waits for the kernel in front of it.
  const LaunchBytes& bytes_of(const trace::Item& launch, bool dependent);
  /// The same without what is promised, and what it touches through textures and surfaces. `index`: of its kernel.
  LaunchBytes& unpromised_bytes_of(const trace::Item& launch, std::uint32_t index, const KernelFootprint* touched,
                                   bool dependent);
  /// None: that of a node of a graph.
  std::optional<ordering::ContextId> context_of_launch(const trace::Record& launch);
  /// Does the kernel wait, perhaps, for what others write? That is an order of its own with them, which is not seen.
  bool may_wait(const trace::Record& launch, std::uint32_t kernel);
  /// The launch but for what it makes of the kernel in front of it. `bytes`: of this launch.
  ordering::LaunchShape shape_of(const trace::Record& launch, std::uint32_t kernel, const LaunchBytes& bytes);
  void launch(const trace::Item& item);
  /// `here` is launched so that it may begin before `front` has ended. Says nothing of a kernel without code.
  ordering::Dependence depends(LaunchedKernel front, LaunchedKernel here);
  /// What the launch makes of the kernel in front of it; remembers it as the last one of its stream.
  ordering::Dependence dependence(const trace::Record& record, ordering::StreamId stream, std::uint32_t kernel);
  void copy(const trace::Item& item);
  void fill(const trace::Item& item);
  void stream_operation(const trace::Item& item);
  void stream_action(const trace::Item& item, ordering::Call call, ordering::StreamId stream);
  void call_end(const trace::Item& item);
  /// Reports the call if it waits where its thread must not.
  void look_for_wait(const trace::Item& item);

  // graph_records.cpp
  void graph_node(const trace::Item& item);
  void graph_made(const trace::Record& record);
  /// Its nodes are new: what they use, and what is wrong between them.
  void check_graph(const Graphs::Exec& exec);
  void launch_graph(const trace::Record& record, ordering::StreamId stream);
  /// Is as bad a hazard of the same launch with the same operation and allocation reported already?
  bool known_of_launch(const ordering::Hazard& hazard);

  // events.cpp
  void record_event(const trace::Record& record);
  bool ends_first(const trace::Record& record, ordering::StreamId stream);
  void wait_event(const trace::Record& record);
  /// Records and waits of whole contexts.
  void context_event(const trace::Record& record);
  void sync_event(const trace::Item& item);
  void query_event(const trace::Record& record);
  void thread_order(const trace::Item& item);
  void call_failed(const trace::Record& record);
  void mark(const trace::Item& item);
  void host_waits(const trace::Item& item);

  // lifetimes.cpp
  void allocate(const trace::Record& record);
  void free(const trace::Item& item);
  /// Is a touch of memory by the thread one by what it called?
  bool inside_blocking_call(const trace::Record& record);
  /// Has an operation that the host does not know to be complete the range to write?
  bool gpu_may_write(ordering::Range range, ordering::ThreadId thread);
  void host_access(const trace::Item& item);
  void host_free(const trace::Item& item);
  ordering::Call pool_call(const trace::Record& record);
  void block_allocate(const trace::Record& record);
  void block_free(const trace::Record& record);
  struct EventOfThread {
    std::uint16_t thread = 0;
    std::uint32_t stack = 0;
    ordering::StreamId stream{};
  };
  /// The streams of the events that were recorded inside of the call of the pool that ends with this record.
  void use_own_events(const trace::Record& record);
  bool is_own_event(const EventOfThread& event, ordering::SiteId free);
  void signal(const trace::Record& record);
  void await(const trace::Record& record);
  void wait_for_value(const trace::Record& record, ordering::Call call, ordering::StreamId stream);
  void value_written(const trace::Record& record, ordering::Call call, ordering::StreamId stream);
  void sync_context(const trace::Item& item);
  void host_waits_for(std::vector<ordering::StreamId> streams, ordering::ThreadId thread);
  void host_has_waited(ordering::ThreadId thread, bool ok);
  void name_memory(const trace::Item& item);
  /// Has the thread made a call of CUDA's?
  [[nodiscard]] bool calls_cuda(std::uint16_t thread) const { return callers_.find(thread) != nullptr; }

  Hazards& hazards_;
  ordering::Model model_;
  Handles handles_;
  EventMisuse event_misuse_;
  FailedCalls failed_calls_;
  ValueWaits value_waits_;
  /// By thread: the streams that its present call waits for, and the last operation before it.
  std::map<std::uint64_t, std::pair<std::vector<ordering::StreamId>, std::uint64_t>> awaited_;
  HiddenSyncs hidden_syncs_;
  Releases releases_;
  Places places_;
  Footprints footprints_;
  MeasuredLaunches measured_launches_;
  Asking asking_;
  Code code_;
  Textures textures_;
  static constexpr std::size_t kMostOwnEvents = 256;
  std::vector<EventOfThread> own_events_;  ///< recorded since their thread's last BlockFree; only with such pools
  bool has_own_events_ = false;            ///< there is a pool that waits for events of its own (kOwnEvents)
  enum class Answer : std::uint8_t { Unknown, No, Yes };
  ordering::FlatMap<Answer> own_events_known_;      ///< by the stacks of free and event: is_own_event() of these
  std::size_t own_events_modules_ = 0;              ///< so many were known for them
  ordering::FlatMap<LaunchedKernel> last_kernels_;  ///< by stream; while code is read
  ordering::FlatMap<std::vector<ordering::BatchPart>> batches_;  ///< by thread: of one whose last parts are to come
  ordering::FlatMap<std::uint64_t> pending_;                     ///< thread -> position + 1 of its blocking call
  Graphs graphs_;
  /// A hazard of the launch last asked about.
  struct OfLaunch {
    ordering::OpId earlier{};
    ordering::AllocationId allocation{};
    ordering::Certainty certainty{};
    ordering::Order order{};
  };
  ordering::OpId last_launch_{};  ///< whose hazards these are
  std::vector<OfLaunch> of_last_launch_;
  std::uint64_t graphs_of_kernels_ = 0;
  std::string captured_order_;       ///< a captured call that makes an event of a graph; empty: none
  ordering::FlatMap<bool> callers_;  ///< threads that have made calls of CUDA's
  std::uint16_t last_caller_ = 0;    ///< the last one added, to save the look-up
  bool probing_ = false;             ///< hazards are answers to gpu_may_write()
  bool probe_hit_ = false;
  bool host_code_in_streams_ = false;  ///< host functions, or graphs, which may hold some, were submitted
  bool compares_ = false;              ///< there is a what-if, which needs more of a kernel's code
  std::vector<Observer*> observers_;
  ordering::FlatMap<bool> signalled_;                         ///< objects of signals
  LaunchBytes launch_bytes_;                                  ///< scratch
  std::pair<ordering::OpId, ordering::OpId> last_certain_{};  ///< of the last certain hazard
  std::vector<ordering::KernelBytes> proved_;                 ///< scratch of bytes_of()
  std::vector<std::string> messages_;
  std::vector<Unmodelled> unmodelled_;  ///< in the order of their first calls
  std::string hidden_order_;
  std::string ended_by_;
};

}  // namespace streamsan::judge

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random CUDA programs, and an interpreter that drives any model with one.
//
// A program is a list of steps of a few small numbers. The interpreter gives them a meaning in every state: the third
// stream of two is the first one again, a wait on an event that was destroyed is a wait on nothing. So any step may be
// deleted and what is left is still a program, which is what lets a failing program be shrunk to its essence.
//
// A blocking call returns when its thread takes its next step; other threads may take theirs in between.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ordering/model.h"
#include "ordering/tests/random_graph.h"

namespace streamsan::ordering::testing {

enum class StepKind : std::uint8_t {
  CreateStream,
  DestroyStream,
  CreateEvent,
  DestroyEvent,
  Allocate,
  AllocateAsync,
  Free,
  FreeAsync,
  Unmap,
  SyncMemory,
  Launch,
  LaunchKnown,  ///< a kernel whose bytes are known, or some of them
  LaunchChain,  ///< a few kernels, one right behind the other, that may overlap
  Copy,
  Batch,  ///< of up to three copies, or discards
  Fill,
  Action,
  HostFunction,
  JoinsAll,
  GraphMake,    ///< an executable graph, or an update as a whole
  GraphChange,  ///< of one node
  GraphLaunch,
  Record,
  RecordByLaunch,
  Wait,
  RecordContext,
  WaitContext,
  SyncStream,
  SyncEvent,
  SyncContext,
  QueryStream,
  QueryEvent,
  HostAccess,
  HostFree,
  BlockAllocate,
  BlockFree,
  BlockUse,
  Signal,
  Await,
  ThreadAfter,  ///< where the order of threads is seen
};

struct Step {
  StepKind kind{};
  std::uint8_t thread = 0;
  std::uint8_t stream = 0;
  std::uint8_t object = 0;  ///< event, memory or kernel
  std::array<std::uint8_t, 6> detail{};
};

struct Program {
  std::uint64_t seed = 0;
  Options::HostThreads host_threads = Options::HostThreads::Joined;
  [[nodiscard]] bool sees_threads() const {
    return host_threads == Options::HostThreads::Seen || host_threads == Options::HostThreads::Strict;
  }
  bool two_contexts = false;
  bool exact_only = false;
  bool one_memory = false;  ///< a pool: everything happens in one place
  bool arrays = false;      ///< one of the memories is an array, which has no blocks and which the host does not touch
  std::vector<Step> steps;
};

Program random_program(std::uint64_t seed);
std::string describe(const Program& program);
/// Deletes steps as long as it still goes wrong.
Program shrink(Program program, const std::function<bool(const Program&)>& goes_wrong);
/// A number from the environment: how many programs, or the first seed.
std::uint64_t from_environment(const char* name, std::uint64_t otherwise);

/// Drives a model. Model and ReferenceModel have the same member functions.
template <typename AnyModel>
class Interpreter {
 public:
  /// `sites`: the steps take turns at so many call sites; 0: each has its own.
  Interpreter(AnyModel& model, const Program& program, std::uint32_t sites = 0)
      : model_(model), program_(program), sites_(sites) {}

  /// Called with each graph that is instantiated, or updated, and the number of the step.
  std::function<void(const Graph&)> on_graph;

  void run() {
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) model_.returned(ThreadId{thread}, true);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) step(program_.steps[i], i + 1);
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) model_.returned(ThreadId{thread}, true);
  }

 private:
  static constexpr std::uint32_t kThreads = 3;
  static constexpr std::uint32_t kMemories = 4;
  static constexpr std::uint32_t kArray = 3;  ///< which of them
  static constexpr Bytes kMemoryBytes = 512;
  static constexpr Bytes kUnit = 64;
  static constexpr std::uint8_t kLinearShape = 11;
  static constexpr Address kPageable = 0x90000;

  struct LiveStream {
    StreamId id{};
    ContextId context{};
  };

  [[nodiscard]] ContextId context(const Step& s) const {
    return ContextId{program_.two_contexts && s.detail[5] % 3 == 0 ? 1u : 0u};
  }

  /// One of them, or all.
  [[nodiscard]] std::vector<ContextId> contexts(const Step& s) const {
    if (s.detail[0] % 3 != 0) return {context(s)};
    return program_.two_contexts ? std::vector<ContextId>{ContextId{1}, ContextId{0}} : std::vector{ContextId{0}};
  }

  LiveStream stream(const Step& s) {
    const ContextId in = context(s);
    const std::size_t choice = s.stream % (streams_.size() + 2);
    if (choice == 0) return {model_.legacy_stream(in), in};
    if (choice == 1) return {model_.per_thread_stream(in, ThreadId{s.thread}), in};
    return streams_[choice - 2];
  }

  EventId event(const Step& s) { return events_.empty() ? EventId{1'000'000} : events_[s.object % events_.size()]; }

  /// Where an annotation speaks of: a stream, or the host.
  std::optional<StreamId> stream_or_host(const Step& s) {
    return s.detail[3] % 4 == 0 ? std::nullopt : std::optional(stream(s).id);
  }

  [[nodiscard]] Address block_of(const Step& s) const {
    return base_of(not_an_array(s.object)) + s.detail[0] % 2 * (kUnit * 2);
  }
  /// One of the blocks handed out, most of which still live; now and then a place where none may begin.
  [[nodiscard]] Address taken_block(const Step& s) const {
    return taken_.empty() || s.detail[2] % 8 == 0 ? block_of(s) : taken_[s.object % taken_.size()];
  }

  [[nodiscard]] Address base_of(std::uint8_t object) const {
    const std::uint32_t memory = object % (program_.one_memory ? 1 : kMemories);
    return (program_.arrays && memory == kArray ? kFirstArrayAddress : 0) + 0x10000 + memory * 0x1000;
  }
  /// Memory in place of an array.
  [[nodiscard]] std::uint8_t not_an_array(std::uint8_t object) const {
    return is_array_address(base_of(object)) ? static_cast<std::uint8_t>(object - 1) : object;
  }

  /// Some bytes of some memory, or of pageable memory, or an array.
  Footprint footprint(std::uint8_t object, std::uint8_t place, std::uint8_t shape) const {
    if (object % 7 == 6) return {shape % 5 == 0 ? 0 : kPageable, kUnit * 2, kUnit * 2, 1};
    const Address begin = base_of(object) + (place % 8) * kUnit;
    const Bytes wide = 1 + place / 8 % 3u;
    switch (shape % 12) {
      case 0:
        return {base_of(object), kMemoryBytes, kMemoryBytes, 1};
      case 1:
        return {begin, kUnit / 2, kUnit, 3};  // rows with gaps
      case 2:
        return {begin, kUnit, kUnit, 2};
      case 3:
        return {begin, kUnit / 2, kUnit, 2, 2, kUnit * 3};  // slices of two rows, with gaps of both kinds
      case 4:
        return {begin + kUnit / 2, kUnit / 2, kUnit, 2, 2, kUnit * 3};  // in the gaps between the rows of the last
      case 5:
        return {begin, kUnit / 4, kUnit / 2, 2, 3, kUnit};  // slices that follow each other
      case 6:
        return {begin, kUnit, kUnit, 1, wide, kUnit * 2};
      case 7:
        return {begin + place / 64, wide, 4u + shape / 12 % 4u, 9u + shape / 64u};  // many thin rows, interleaved
      case 8:
        return {begin + place / 64, wide, 5, 4u + shape / 64u, 5, 23 + wide};  // and slices of them
      case 9:
        return {begin + place / 64, 1, kUnit, 3, 4, 5 + wide};  // rows further apart than slices
      default:
        return {begin, kUnit * (1 + shape / 12 % 3), kUnit * 4, 1};
    }
  }

  void step(const Step& s, std::size_t number) {
    const ThreadId thread{s.thread};
    const Call call{thread, SiteId{static_cast<std::uint32_t>(sites_ == 0 ? number : number % sites_ + 1)}};
    model_.at(number);
    model_.returned(thread, s.detail[4] % 8 != 0);
    const Form form = s.detail[3] % 2 ? Form::Asynchronous : Form::Synchronous;
    switch (s.kind) {
      case StepKind::CreateStream: {
        const StreamKind kind = s.detail[0] % 2 ? StreamKind::Blocking : StreamKind::NonBlocking;
        streams_.push_back({model_.create_stream(context(s), kind), context(s)});
        break;
      }
      case StepKind::DestroyStream:
        if (streams_.empty()) break;
        model_.destroy_stream(streams_[s.stream % streams_.size()].id);
        streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(s.stream % streams_.size()));
        break;
      case StepKind::CreateEvent:
        events_.push_back(model_.create_event(s.detail[0] % 2 ? EventTiming::Off : EventTiming::On));
        break;
      case StepKind::DestroyEvent:
        if (events_.empty()) break;
        model_.destroy_event(event(s));
        destroyed_.insert(event(s));
        break;
      case StepKind::Allocate: {
        const Range bytes{base_of(s.object), base_of(s.object) + kMemoryBytes};
        constexpr MemoryKind kinds[] = {MemoryKind::Device, MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Managed,
                                        MemoryKind::Registered};
        std::optional<ContextId> device;
        if (s.detail[1] % 4 != 0) device = context(s);
        const bool array = is_array_address(bytes.begin);
        model_.allocate(call, bytes, array ? MemoryKind::Array : kinds[s.detail[0] % 5], device);
        break;
      }
      case StepKind::AllocateAsync: {
        const Address begin = base_of(not_an_array(s.object));
        model_.allocate_async(call, stream(s).id, {begin, begin + kMemoryBytes}, s.detail[1] % 4 != 0);
        break;
      }
      case StepKind::Free:
        model_.free(call, context(s), base_of(s.object));
        break;
      case StepKind::FreeAsync:
        model_.free_async(call, stream(s).id, base_of(not_an_array(s.object)));
        break;
      case StepKind::Unmap:
        model_.unmap(call, context(s), {base_of(s.object), base_of(s.object) + kMemoryBytes});
        break;
      case StepKind::SyncMemory:
        model_.sync_memory(base_of(s.object), s.detail[0] % 4 != 0);
        break;
      case StepKind::Launch:
        launch(call, s);
        break;
      case StepKind::LaunchKnown:
        launch_known(call, s);
        break;
      case StepKind::LaunchChain:
        launch_chain(call, s);
        break;
      case StepKind::Copy: {
        Footprint dst = footprint(s.object, s.detail[0], s.detail[1]);
        Footprint src = footprint(s.detail[2], s.detail[0] / 8, s.detail[1]);
        if (s.detail[4] % 16 == 1) dst.width = src.width = 0;
        model_.copy(call, stream(s).id, dst, src, form);
        break;
      }
      case StepKind::Batch:
        batch(call, s);
        break;
      case StepKind::Fill: {
        Footprint dst = footprint(s.object, s.detail[0], s.detail[1]);
        if (s.detail[4] % 16 == 1) dst.width = 0;
        model_.fill(call, stream(s).id, dst, form);
        break;
      }
      case StepKind::Action:
        model_.stream_action(call, stream(s).id);
        break;
      case StepKind::HostFunction:
        model_.host_function(call, stream(s).id);
        break;
      case StepKind::JoinsAll:
        model_.stream_joins_all(call, stream(s).id);
        break;
      case StepKind::GraphMake:
      case StepKind::GraphChange:
        make_graph(call, s);
        break;
      case StepKind::GraphLaunch: {
        const Exec& exec = execs_[s.object % std::size(execs_)];
        if (exec.graph.nodes().empty()) {
          model_.graph_launch(call, stream(s).id, exec.key);
        } else {
          model_.graph_launch(call, stream(s).id, exec.key, exec.graph);
        }
        break;
      }
      case StepKind::Record:
        // Waiting on a destroyed event is an error that a program may make; recording one makes no sense at all.
        if (!events_.empty() && !destroyed_.contains(event(s))) model_.record_event(call, stream(s).id, event(s));
        break;
      case StepKind::RecordByLaunch:
        if (!events_.empty() && !destroyed_.contains(event(s)))
          model_.record_by_launch(call, stream(s).id, event(s), s.detail[0] % 3 == 0);
        break;
      case StepKind::Wait:
        model_.wait_event(call, stream(s).id, event(s));
        break;
      case StepKind::RecordContext:
        if (!events_.empty() && !destroyed_.contains(event(s))) model_.record_event_of(call, contexts(s), event(s));
        break;
      case StepKind::WaitContext:
        model_.wait_event_by(call, contexts(s), event(s));
        break;
      case StepKind::SyncStream:
        model_.sync_stream(call, stream(s).id);
        break;
      case StepKind::SyncEvent:
        model_.sync_event(call, event(s));
        break;
      case StepKind::SyncContext:
        model_.sync_context(call, context(s));
        break;
      case StepKind::QueryStream:
        model_.query_stream_succeeded(call, stream(s).id);
        break;
      case StepKind::QueryEvent:
        model_.query_event_succeeded(call, event(s));
        break;
      case StepKind::HostAccess: {
        const Footprint bytes = footprint(not_an_array(s.object % 6), s.detail[0], kLinearShape);
        model_.host_access(call, {bytes.base, bytes.base + (s.detail[2] % 2 ? 1 : bytes.width)},
                           s.detail[1] % 2 ? AccessMode::Read : AccessMode::Write);
        break;
      }
      case StepKind::HostFree: {
        const Range pageable{kPageable, kPageable + kUnit * 2};
        const Address begin = base_of(not_an_array(s.object));
        const Range part{begin, begin + kMemoryBytes / (1 + s.detail[0] % 2)};
        model_.host_free(call, s.detail[1] % 2 ? pageable : part);
        break;
      }
      case StepKind::BlockAllocate:
        // Longer than what rows that follow each other cover: the reference takes them one by one.
        model_.block_allocate(call, stream_or_host(s), {block_of(s), block_of(s) + kUnit * 2 * (2 + s.detail[1] % 3)});
        taken_.push_back(block_of(s));
        break;
      case StepKind::BlockFree:
        model_.block_free(call, stream_or_host(s), taken_block(s));
        std::erase(taken_, taken_block(s));
        break;
      case StepKind::BlockUse:
        model_.block_use(call, stream(s).id, taken_block(s));
        break;
      case StepKind::Signal:
        model_.signal(call, stream_or_host(s), s.object % 2);
        break;
      case StepKind::Await:
        model_.await(call, stream_or_host(s), s.object % 2);
        break;
      case StepKind::ThreadAfter: {
        const std::size_t ago = s.detail[0] % 16;
        if (s.detail[1] % 16 == 0) {
          model_.thread_after_all(thread);
        } else {
          model_.thread_after(thread, ThreadId{s.object % kThreads}, number > ago ? number - ago : 0);
        }
        if (s.detail[2] % 32 == 0) model_.thread_hides_order(thread);
        break;
      }
    }
  }

  void launch(Call call, const Step& s) {
    PointerArgument pointers[3];
    const std::size_t count = 1 + s.detail[0] % 3;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t bits = s.detail[1 + i];
      pointers[i].address = base_of(bits) + (bits / 4 % 3) * kUnit * 2;
      pointers[i].mode = bits % 5 < 2 ? AccessMode::Read : bits % 5 == 2 ? AccessMode::Write : AccessMode::Unknown;
      if (bits % 16 == 9) pointers[i].mode = AccessMode::Doubtful;
      if (bits / 16 % 8 != 0) continue;
      // To the fast model rows that follow each other are one run, to the reference several: no reach ends in between.
      pointers[i].reach = bits % 3 == 0 ? kUnit / 4 : bits % 3 == 2 && bits / 4 % 3 == 0 ? kMemoryBytes : kUnit;
      pointers[i].parted = bits >= 128;
    }
    model_.launch(call, stream(s).id, shape_of(s, dependence(s.detail[4])), {pointers, count});
  }

  static LaunchShape shape_of(const Step& s, const Dependence& dependence = {}) {
    return {.function = FunctionId{s.object % 3u},
            .threads = std::uint64_t{1} << (s.object % 4 * 5),
            .arguments_hash = s.object % 2u,
            .dependence = dependence};
  }
  /// Up to four pieces, measured or learned, one perhaps widened; now and then a pointer, as if they were incomplete.
  void launch_known(Call call, const Step& s) {
    constexpr AccessMode modes[] = {AccessMode::Read, AccessMode::Write, AccessMode::Atomic, AccessMode::Atomic};
    std::vector<KernelBytes> pieces(1 + s.detail[0] % 4);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::uint8_t bits = s.detail[1 + i];
      pieces[i] = {.bytes = footprint(bits % 8 == 0 ? s.object : bits, bits / 4, s.detail[(i + 2) % 5]),
                   .mode = modes[bits / 16 % 4],
                   .widened = i == 0 && s.detail[2] % 8 == 0,
                   .sure = bits % 32 >= 24,
                   .signals = bits / 16 % 4 == 1 && s.detail[i] % 4 == 1};  // writes
    }
    LaunchShape shape = shape_of(s);
    shape.atomic_for_host = s.detail[3] % 8 < 3;
    shape.signalled = s.detail[4] % 8 == 5;
    shape.learned = s.detail[3] % 4 == 0;
    const PointerArgument pointer{base_of(s.detail[4]), AccessMode::Unknown};
    const std::size_t pointers = !program_.exact_only && s.detail[1] % 8 == 3;
    model_.launch(call, stream(s).id, shape, {&pointer, pointers}, pieces);
  }

  void batch(Call call, const Step& s) {
    constexpr SourceOrder orders[] = {SourceOrder::Stream, SourceOrder::DuringCall, SourceOrder::Any,
                                      SourceOrder::Stream};
    const bool discards = s.detail[3] % 8 == 0;
    BatchPart parts[3];
    const std::size_t count = s.detail[0] % 4;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t bits = s.detail[1 + i], shape = s.detail[(i + 3) % 5];
      parts[i].dst = footprint(static_cast<std::uint8_t>(s.object + i), bits, shape);
      if (!discards) parts[i].src = footprint(bits, bits / 8, shape);
      parts[i].order = discards ? SourceOrder::Stream : orders[bits / 16 % 4];
    }
    model_.batch(call, stream(s).id, {parts, count}, discards ? AccessSource::Fill : AccessSource::Copy);
  }

  static Dependence dependence(std::uint8_t bits) {
    constexpr Trigger triggers[] = {Trigger::Early, Trigger::Never, Trigger::Unknown, Trigger::Last,
                                    Trigger::Early, Trigger::Never, Trigger::Early,   Trigger::Published};
    return {.overlaps = bits % 8 != 0,
            .waits = bits / 8 % 4 != 0,
            .front = triggers[bits / 32 % 8],
            .front_waits_first = bits / 2 % 4 != 0};
  }

  /// Each kernel uses two pieces, or a piece and a pointer.
  void launch_chain(Call call, const Step& s) {
    constexpr AccessMode modes[] = {AccessMode::Read, AccessMode::Write, AccessMode::Write, AccessMode::Atomic};
    for (std::size_t i = 0; i < 2 + s.detail[0] % 3u; ++i) {
      const std::uint8_t bits = s.detail[(i + 1) % 5];
      const auto other = static_cast<std::uint8_t>(bits * 37 + i * 11 + s.object);
      KernelBytes pieces[2];
      pieces[0] = {
          .bytes = footprint(s.object, bits / 8, s.detail[4]), .mode = modes[bits % 4], .early = bits % 3 == 0};
      pieces[1] = {.bytes = footprint(other, other / 8, 11), .mode = modes[other % 4], .early = other % 3 == 0};
      const PointerArgument pointer{base_of(other) + other / 8 % 3 * kUnit * 2,
                                    other % 2 ? AccessMode::Write : AccessMode::Read, other % 5 == 0};
      const bool inferred = !program_.exact_only && other % 4 == 0;
      const LaunchShape shape{.function = FunctionId{other % 3u},
                              .threads = 32,
                              .arguments_hash = other % 2u,
                              .dependence = dependence(static_cast<std::uint8_t>(other + bits / 4))};
      model_.launch(call, stream(s).id, shape, {&pointer, inferred ? 1u : 0u}, {pieces, inferred ? 1u : 2u});
      if (other % 6 == 0 && !events_.empty() && !destroyed_.contains(event(s)))
        model_.record_event(call, stream(s).id, event(s));  // R-LCH-02g
    }
  }

  void make_graph(Call call, const Step& s) {
    Exec& exec = execs_[s.object % std::size(execs_)];
    const auto pointer = [this](std::uint8_t bits) {
      return PointerArgument{base_of(bits) + bits / 4 % 3 * kUnit * 2, bits % 2 ? AccessMode::Read : AccessMode::Write};
    };
    const auto place = [this](std::uint8_t object, std::uint8_t at, std::uint8_t shape) {
      return footprint(object, at, shape);
    };
    const Surroundings around{place, pointer, events_, call.site, program_.exact_only};
    const std::uint64_t seed = s.detail[0] * 65536u + s.detail[1] * 256u + s.detail[2];
    if (s.kind == StepKind::GraphChange) {
      if (exec.graph.nodes().empty()) return;
      exec.graph = with_another_node(exec.graph, seed, around);
    } else {
      if (s.detail[3] % 2 == 0) exec.key = next_key_++;
      exec.graph = random_graph(seed, around);
    }
    if (on_graph) on_graph(exec.graph);
  }

  AnyModel& model_;
  const Program& program_;
  std::uint32_t sites_;
  std::vector<LiveStream> streams_;
  std::vector<EventId> events_;
  std::set<EventId> destroyed_;
  std::vector<Address> taken_;
  struct Exec {
    std::uint64_t key = 0;
    Graph graph;
  } execs_[3]{};  ///< those that were never made have one key, and nodes that are not known
  std::uint64_t next_key_ = 1;
};

}  // namespace streamsan::ordering::testing

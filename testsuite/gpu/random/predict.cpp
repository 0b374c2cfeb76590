// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/predict.h"

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "ordering/graph.h"
#include "ordering/model.h"
#include "testsuite/gpu/random/given.h"

namespace streamsan::lab {
namespace {

namespace model = ordering;
using model::Address;
using model::Footprint;
using model::OpId;
using model::Range;

// Addresses of the model's memory; each cell has a word of each. Each is an allocation of its own: of one operation and
// one allocation a single hazard is reported.
constexpr model::Bytes kWord = 64;
constexpr model::Bytes kSlots = kWord * kCells;
constexpr Address kDevice = 0x100000;   // what operations touch
constexpr Address kBehind = 0x180000;   // what kernels touch behind their wait
constexpr Address kPinned = 0x200000;   // fills of host memory
constexpr Address kOnHost = 0x300000;   // what the host reads after each call
constexpr Address kOnes = 0x400000;     // sources and targets on the device that nobody else touches
constexpr Address kLanding = 0x500000;  // the same on the host, pinned
constexpr Address kIdle = 0x600000;     // memory that is freed
constexpr Address kIdleHost = 0x700000;
constexpr Address kPageable = 0x900000;    // no allocation
constexpr Address kOfSecond = 0x10000000;  // memory of the second device is so much higher

constexpr model::ContextId context(unsigned device) { return model::ContextId{device + 1}; }
constexpr model::SiteId site_of(std::size_t cell) { return model::SiteId{static_cast<std::uint32_t>(cell + 1)}; }

Footprint word(Address base, std::size_t index) { return {.base = base + kWord * index, .width = kWord}; }

class Predictor final : public model::HazardSink {
 public:
  Predictor(const Program& program, const Observation& observation, Planted planted)
      : program_(program), observation_(observation), planted_(planted), held_(held_of(program)), model_({}, *this) {}

  Prediction run() {
    prediction_.host.assign(program_.steps.size(), Order::NotAsked);
    for (const Address base : {kDevice, kBehind, kOnes, kIdle}) {
      for (const unsigned device : {0u, 1u}) {
        const Address begin = base + device * kOfSecond;
        model_.allocate({}, {begin, begin + kSlots}, model::MemoryKind::Device, context(device));
      }
    }
    for (const Address host : {kPinned, kOnHost, kLanding, kIdleHost})
      model_.allocate({}, {host, host + kSlots}, model::MemoryKind::Pinned, context(0));
    for (unsigned event = 0; event < 2 * kEvents; ++event) events_.push_back(new_event(event));
    for (std::size_t i = 0; i < program_.steps.size(); ++i) step(i);
    return std::move(prediction_);
  }

  void hazard(const model::Hazard& hazard) override {
    const Order order = hazard.order == model::Order::Unordered ? Order::Unordered : Order::Assumed;
    if (in_graph_) return inside_.emplace_back(hazard.earlier.node, hazard.later.node, hazard.overlap, order), void();
    if (!held_ || !after_held_ || hazard.earlier.site != site_of(held_->cell)) return;
    if (hazard.later.source == model::AccessSource::Host) {
      if (asking_host_) host_ = order;
      return;
    }
    const std::size_t cell = static_cast<std::size_t>(hazard.later.site) - 1;
    if (prediction_.cells[cell][instance_ < kInstances ? instance_ : 0].begin != Order::NotAsked)
      note(cell, hazard.overlap, order);
  }

 private:
  struct Inside {
    std::uint32_t earlier = 0;
    std::uint32_t later = 0;
    Range overlap;
    Order order{};
  };

  model::StreamId stream(const Step& step) {
    const StreamRef& ref = step.stream;
    if (ref.type == StreamType::Legacy) return model_.legacy_stream(context(ref.device));
    if (ref.type == StreamType::PerThread)
      return model_.per_thread_stream(context(ref.device), model::ThreadId{step.thread});
    const auto [entry, made] = streams_.try_emplace({ref.type, ref.device * kStreams + ref.index});
    if (made) {
      const bool blocks = ref.type == StreamType::Blocking || planted_ == Planted::NonBlockingJoinsLegacy;
      entry->second = model_.create_stream(context(ref.device),
                                           blocks ? model::StreamKind::Blocking : model::StreamKind::NonBlocking);
    }
    return entry->second;
  }

  model::EventId new_event(unsigned object) {
    return model_.create_event(object % kEvents < kEvents / 2 ? model::EventTiming::Off : model::EventTiming::On);
  }

  /// An answer about the operation that is being submitted.
  void note(std::size_t cell, Range overlap, Order order) {
    if (instance_ >= kInstances) return;
    Predicted& predicted = prediction_.cells[cell][instance_];
    const Address begin = overlap.begin < kOfSecond ? overlap.begin : overlap.begin - kOfSecond;
    const bool late = kBehind <= begin && begin < kBehind + kSlots;
    (late ? predicted.waited : predicted.begin) = order;
  }
  void expect(std::size_t cell, Order order, bool waits) {
    Predicted& predicted = prediction_.cells[cell][instance_];
    predicted.begin = order;
    if (waits) predicted.waited = order;
  }

  [[nodiscard]] bool is_held(std::size_t cell) const { return held_ && held_->cell == cell && !after_held_; }

  std::vector<model::KernelBytes> bytes_of(std::size_t cell, bool held) const {
    if (held) {
      std::vector<model::KernelBytes> all;
      for (const Address base : {kDevice, kBehind, kPinned, kOnHost, kDevice + kOfSecond, kBehind + kOfSecond})
        all.push_back({.bytes = {.base = base, .width = kSlots}, .mode = model::AccessMode::Write});
      return all;
    }
    return {{.bytes = word(kDevice + memory_, cell), .mode = model::AccessMode::Read, .early = true},
            {.bytes = word(kBehind + memory_, cell), .mode = model::AccessMode::Read}};
  }

  model::LaunchShape shape_of(const Work& work, const Work* front, std::size_t cell) const {
    model::LaunchShape shape{.function = model::FunctionId{static_cast<std::uint32_t>(cell + 1)}, .threads = 1};
    if (!work.dependent || planted_ == Planted::DependentsAreOrdinary) return shape;
    const Triggers triggers = front ? front->triggers : Triggers::Never;
    shape.dependence = {.overlaps = true,
                        .waits = work.waits,
                        .front = triggers == Triggers::Never ? model::Trigger::Never : model::Trigger::Early,
                        .front_waits_first = front && front->waits && triggers != Triggers::First};
    return shape;
  }

  std::pair<Footprint, Footprint> sides_of(Route route, std::size_t cell) const {
    const Footprint mine = word(kDevice + memory_, cell);
    switch (route) {
      case Route::ToDevice:
        return {mine, word(kLanding, cell)};
      case Route::FromDevice:
        return {word(kLanding, cell), mine};
      case Route::Within:
        return {mine, word(kOnes + memory_, cell)};
      case Route::PageableToDevice:
        return {mine, word(kPageable, cell)};
      case Route::PageableFromDevice:
        return {word(kPageable, cell), mine};
    }
    return {};
  }

  void step(std::size_t index) {
    const Step& step = program_.steps[index];
    const model::Call call{model::ThreadId{step.thread}, site_of(cell_of_step(index))};
    instance_ = 0;
    memory_ = step.stream.device * kOfSecond;
    if (is_held(cell_of_step(index))) {
      hold(step, call);
    } else {
      submit(index, step, call);
    }
    model_.returned(call.thread, true);
    if (after_held_ && !holds_only_events(step)) ask_host(index, call);
    const bool made = step.stream.type == StreamType::Blocking || step.stream.type == StreamType::NonBlocking;
    const bool left_out = (step.work.op == Op::AwaitValue && !written_.contains(step.object)) ||
                          (step.work.op == Op::DestroyStream && !made);
    if (!left_out)
      given_.note(index, step.work.op, key_of(step.stream, step.thread), key_of({.device = step.stream.device}, 0));
  }

  /// Is the stream that is synchronised with one that was given records and waits only since the legacy stream acted?
  bool holds_only_events(const Step& step) {
    if (step.work.op != Op::SyncStream && step.work.op != Op::QueryStream) return false;
    if (step.stream.type != StreamType::Blocking && step.stream.type != StreamType::PerThread) return false;
    return given_.only_events(key_of(step.stream, step.thread));
  }

  void hold(const Step& step, model::Call call) {
    const model::StreamId where = stream(step);
    if (step.work.op == Op::Kernel) {
      const std::size_t cell = cell_of_step(held_->step);
      model_.launch(call, where, shape_of(step.work, front(step.stream, step.thread), cell), {}, bytes_of(cell, true));
      remember(step);
    } else if (step.work.op == Op::Host) {
      model_.host_function(call, where);
    } else {
      model_.stream_action(call, where);
    }
    moment_ = model_.last_operation(where);
    touches_ = step.work.op == Op::Kernel;
    after_held_ = true;
  }

  /// The kernel in front of the next operation of the stream; the model itself knows whether it is right in front.
  const Work* front(const StreamRef& stream, unsigned thread) const {
    const auto found = last_kernel_.find(key_of(stream, thread));
    return found == last_kernel_.end() ? nullptr : found->second;
  }
  void remember(const Step& step) { last_kernel_[key_of(step.stream, step.thread)] = &step.work; }
  static unsigned key_of(const StreamRef& stream, unsigned thread) {
    const unsigned number = stream.type == StreamType::PerThread ? thread : stream.index;
    return (static_cast<unsigned>(stream.type) * 2 + stream.device) * kStreams + number;
  }

  void submit(std::size_t index, const Step& step, model::Call call) {
    const std::size_t cell = cell_of_step(index);
    const Work& work = step.work;
    const bool has_bytes = work.op == Op::Kernel || work.op == Op::Copy || work.op == Op::Fill;
    const bool asks = after_held_ && !overlaps_more(step);
    if (asks && has_bytes) expect(cell, Order::Ordered, work.op == Op::Kernel);
    const auto form = step.synchronous ? model::Form::Synchronous : model::Form::Asynchronous;
    switch (work.op) {
      case Op::Kernel:
        model_.launch(call, stream(step), shape_of(work, front(step.stream, step.thread), cell), {},
                      bytes_of(cell, false));
        remember(step);
        break;
      case Op::Copy: {
        const auto [dst, src] = sides_of(work.route, cell);
        model_.copy(call, stream(step), dst, src, form);
        break;
      }
      case Op::Fill:
        model_.fill(call, stream(step), word(work.pinned ? kPinned : kDevice + memory_, cell), form);
        break;
      case Op::Host:
        model_.host_function(call, stream(step));
        break;
      case Op::Record:
        model_.record_event(call, stream(step), events_[step.object]);
        known_events_.insert(step.object);
        break;
      case Op::Wait:
        model_.wait_event(call, stream(step), events_[step.object]);
        break;
      case Op::SyncStream:
        if (!holds_only_events(step)) model_.sync_stream(call, stream(step));
        break;
      case Op::SyncEvent:
        model_.sync_event(call, events_[step.object]);
        break;
      case Op::SyncDevice:
        model_.sync_context(call, context(step.object));
        break;
      case Op::QueryStream:
        if (succeeded(index) && !holds_only_events(step)) model_.query_stream_succeeded(call, stream(step));
        break;
      case Op::QueryEvent:
        if (succeeded(index)) model_.query_event_succeeded(call, events_[step.object]);
        break;
      case Op::WriteValue:
        model_.stream_action(call, stream(step));
        model_.signal(call, stream(step), step.object);
        written_.insert(step.object);
        break;
      case Op::AwaitValue:
        if (!written_.contains(step.object)) break;  // it is left out
        model_.await(call, stream(step), step.object);
        model_.stream_action(call, stream(step));
        break;
      case Op::Launch:
        launch(step, call);
        break;
      case Op::DestroyStream:
        if (step.stream.type == StreamType::Blocking || step.stream.type == StreamType::NonBlocking) destroy(step);
        break;
      case Op::DestroyEvent:
        model_.destroy_event(events_[step.object]);
        events_[step.object] = new_event(step.object);  // who uses the number again uses another event
        recorded_.erase(step.object);
        known_events_.erase(step.object);
        break;
      case Op::Free:
        model_.free(call, context(0), kIdle);
        break;
      case Op::FreeHost:
        model_.free(call, context(0), kIdleHost);
        break;
      case Op::Hold:
      case Op::Allocate:
      case Op::AllocateHost:
      case Op::Empty:
        break;
    }
    // As if an event always captured what its stream holds when somebody waits for it.
    if (planted_ == Planted::EventsRecordLater) record_again(step, call);
    const bool asks_place = work.op == Op::Host || work.op == Op::WriteValue;
    if (asks && (asks_place || (has_bytes && !touches_))) expect(cell, place_of(stream(step)), work.op == Op::Kernel);
  }

  /// Is it a dependent launch with a wait for an event between it and the kernel in front, or one behind such a launch?
  bool overlaps_more(const Step& step) {
    bool& more = waited_between_[key_of(step.stream, step.thread)];
    switch (step.work.op) {
      case Op::Wait:
        return more |= known_events_.contains(step.object), false;
      case Op::Kernel:
        return more = more && step.work.dependent;
      case Op::Copy:
      case Op::Fill:
      case Op::Host:
      case Op::WriteValue:
      case Op::Launch:
        return more = false;
      case Op::AwaitValue:
        return more = more && !written_.contains(step.object), false;
      default:
        return false;
    }
  }

  void record_again(const Step& step, model::Call call) {
    if (step.work.op == Op::Record) recorded_[step.object] = stream(step);
    if (step.work.op == Op::SyncEvent || step.work.op == Op::Record) return;
    for (const auto& [event, where] : recorded_) model_.record_event(call, where, events_[event]);
  }

  void destroy(const Step& step) {
    model_.destroy_stream(stream(step));
    streams_.erase({step.stream.type, step.stream.device * kStreams + step.stream.index});
  }

  [[nodiscard]] bool succeeded(std::size_t index) const {
    return index < observation_.steps.size() && observation_.steps[index].succeeded;
  }

  /// Without bytes: is the stream's last operation after the held one? That an assumed rule orders them does not show.
  Order place_of(model::StreamId where) const {
    return moment_ && model_.is_after(where, *moment_) ? Order::Ordered : Order::Unordered;
  }

  void ask_host(std::size_t index, model::Call call) {
    Order& answer = prediction_.host[index];
    if (!touches_) {
      answer = moment_ && model_.is_after(call.thread, *moment_) ? Order::Ordered : Order::Unordered;
      return;
    }
    host_ = Order::Ordered;
    asking_host_ = true;
    const Footprint mine = word(kOnHost, index);
    model_.host_access(call, {mine.base, mine.base + mine.width}, model::AccessMode::Read);
    asking_host_ = false;
    answer = host_;
  }

  // ---- graphs ---------------------------------------------------------------------------------------------------------
  model::Graph graph_of(std::size_t number, bool holds) {
    const Graph& graph = program_.graphs[number];
    std::vector<model::GraphNode> made;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      const std::size_t cell = cell_of_node(number, n);
      model::GraphNode out{.site = site_of(cell), .number = static_cast<std::uint32_t>(n + 1)};
      out.after.assign(node.after.begin(), node.after.end());
      using Kind = model::GraphNode::Kind;
      switch (node.work.op) {
        case Op::Kernel:
        case Op::Host: {
          out.kind = Kind::Kernel;
          const bool alone = node.after.size() == 1 && node.work.dependent;
          out.shape = shape_of(node.work, alone ? &graph.nodes[node.after[0]].work : nullptr, cell);
          out.shape.dependence.overlaps &= alone;
          out.bytes = bytes_of(cell, holds && node.work.held);
          break;
        }
        case Op::Copy:
          out.kind = Kind::Copy;
          std::tie(out.dst, out.src) = sides_of(node.work.route, cell);
          break;
        case Op::Fill:
          out.kind = Kind::Fill;
          out.dst = word(kDevice + memory_, cell);
          break;
        default:
          break;
      }
      made.push_back(std::move(out));
    }
    return model::Graph(std::move(made));
  }

  void launch(const Step& step, model::Call call) {
    if (step.object >= program_.graphs.size()) return;
    const std::size_t number = step.object;
    const bool holds = held_ && held_->graph == number && !after_held_;
    const model::Graph graph = graph_of(number, holds);
    instance_ = launches_[number]++;
    const std::vector<Node>& nodes = program_.graphs[number].nodes;
    if (after_held_ && instance_ < kInstances) {
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].work.op != Op::Empty)
          expect(cell_of_node(number, n), Order::Ordered, nodes[n].work.op == Op::Kernel);
      }
    }
    model_.graph_launch(call, stream(step), number, graph);
    if (after_held_ && !touches_ && instance_ < kInstances) {
      for (std::size_t n = 0; n < nodes.size(); ++n) expect(cell_of_node(number, n), place_of(stream(step)), true);
    }
    if (!holds) return;
    moment_ = model_.last_operation(stream(step));
    after_held_ = touches_ = true;
    check_inside(number, graph);
  }

  /// What else of the launch that holds may run beside the held node.
  void check_inside(std::size_t number, const model::Graph& graph) {
    in_graph_ = true;
    model::check_graph(graph, model_, *this);
    in_graph_ = false;
    const auto held = static_cast<std::uint32_t>(held_->node + 1);
    // Those behind it in the order of the nodes; those in front cannot come after it.
    for (std::size_t n = held_->node + 1; n < graph.nodes().size(); ++n) {
      if (graph.nodes()[n].kind != model::GraphNode::Kind::Nothing)
        expect(cell_of_node(number, n), Order::Ordered, graph.nodes()[n].kind == model::GraphNode::Kind::Kernel);
    }
    for (const Inside& each : inside_) {
      if (each.earlier == held) note(cell_of_node(number, each.later - 1), each.overlap, each.order);
    }
  }

  const Program& program_;
  const Observation& observation_;
  Planted planted_;
  std::optional<Held> held_;
  Prediction prediction_;
  model::Model model_;
  std::map<std::pair<StreamType, unsigned>, model::StreamId> streams_;
  std::map<unsigned, const Work*> last_kernel_;
  std::map<unsigned, bool> waited_between_;
  Given given_;
  std::set<unsigned> written_;
  std::vector<model::EventId> events_;
  std::set<unsigned> known_events_;  ///< recorded
  std::map<unsigned, model::StreamId> recorded_;
  std::map<std::size_t, std::size_t> launches_;
  std::vector<Inside> inside_;
  std::optional<model::Moment> moment_;  ///< of the held operation
  std::size_t instance_ = 0;
  Address memory_ = 0;  ///< where that of the step's device begins
  Order host_ = Order::NotAsked;
  bool asking_host_ = false;
  bool after_held_ = false;
  bool touches_ = false;  ///< the held operation has bytes
  bool in_graph_ = false;
};

}  // namespace

Prediction predict(const Program& program, const Observation& observation, Planted planted) {
  return Predictor(program, observation, planted).run();
}

const char* name_of(Order order) {
  switch (order) {
    case Order::NotAsked:
      return "not asked";
    case Order::Unordered:
      return "unordered";
    case Order::Assumed:
      return "assumed";
    case Order::Ordered:
      return "ordered";
  }
  return "?";
}

}  // namespace streamsan::lab

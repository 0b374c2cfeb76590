// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/predict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "ordering/graph.h"
#include "ordering/model.h"
#include "testsuite/gpu/random/given.h"
#include "testsuite/gpu/random/predict_graphs.h"
#include "testsuite/gpu/random/predict_memory.h"

namespace streamsan::lab {
namespace {

namespace model = ordering;
using memory::context;
using memory::kBehind;
using memory::kIdle;
using memory::kIdleArray;
using memory::kIdleHost;
using memory::kOfSecond;
using memory::kOnHost;
using memory::kSlots;
using memory::word;
using model::Address;
using model::Footprint;
using model::OpId;
using model::Range;

class Predictor final : public model::HazardSink {
 public:
  Predictor(const Program& program, const Observation& observation, Planted planted)
      : program_(program), observation_(observation), planted_(planted), held_(held_of(program)), model_({}, *this) {}

  Prediction run() {
    prediction_.host.assign(program_.steps.size(), Order::NotAsked);
    memory::allocate(model_);
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
    const std::size_t instance = instance_ * rounds_of_cell(cell);
    if (prediction_.cells[cell][instance < kInstances ? instance : 0].begin != Order::NotAsked)
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

  /// How often a launch runs what has the cell: a body of a WHILE may have several rounds, all of one answer.
  [[nodiscard]] std::size_t rounds_of_cell(std::size_t cell) const {
    const auto found = rounds_.find(cell);
    return found == rounds_.end() ? 1 : found->second;
  }

  enum class Rounds : std::uint8_t { All, First, Later };

  /// The answers of the operation that is being submitted.
  template <typename Change>
  void change(std::size_t cell, Rounds which, Change change) {
    const std::size_t rounds = rounds_of_cell(cell);
    for (std::size_t round = which == Rounds::Later; round < (which == Rounds::First ? 1 : rounds); ++round) {
      const std::size_t instance = instance_ * rounds + round;
      if (instance < kInstances) change(prediction_.cells[cell][instance]);
    }
  }
  void note(std::size_t cell, Range overlap, Order order, Rounds which = Rounds::All) {
    const Address begin = overlap.begin < kOfSecond ? overlap.begin : overlap.begin - kOfSecond;
    const bool late = kBehind <= begin && begin < kBehind + kSlots;
    change(cell, which, [&](Predicted& predicted) { (late ? predicted.waited : predicted.begin) = order; });
  }
  void expect(std::size_t cell, Order order, bool waits, Rounds which = Rounds::All) {
    change(cell, which, [&](Predicted& predicted) {
      predicted.begin = order;
      if (waits) predicted.waited = order;
    });
  }

  [[nodiscard]] bool is_held(std::size_t cell) const { return held_ && held_->cell == cell && !after_held_; }

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

  /// Is the stream that is waited for one that was given records and waits only since the legacy stream acted? A
  /// synchronous copy from pageable memory waits for the stream, and then stages its bytes (R-CPY-01).
  bool holds_only_events(const Step& step) {
    const bool stages =
        step.work.op == Op::Copy && step.synchronous && sides_of(step.work.route).from == Side::Pageable;
    if (step.work.op != Op::SyncStream && step.work.op != Op::QueryStream && !stages) return false;
    if (step.stream.type != StreamType::Blocking && step.stream.type != StreamType::PerThread) return false;
    return given_.only_events(key_of(step.stream, step.thread));
  }

  void hold(const Step& step, model::Call call) {
    const model::StreamId where = stream(step);
    if (step.work.op == Op::Kernel) {
      const std::size_t cell = cell_of_step(held_->step);
      model_.launch(call, where, shape_of(step.work, front(step.stream, step.thread), cell, planted_), {},
                    memory::bytes_of_held());
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
        model_.launch(call, stream(step), shape_of(work, front(step.stream, step.thread), cell, planted_), {},
                      memory::bytes_of_kernel(cell, memory_));
        remember(step);
        break;
      case Op::Copy: {
        const auto [dst, src] = memory::bytes_of_copy(work, cell, memory_);
        const bool of_array = model::is_array_address(dst.base) || model::is_array_address(src.base);
        if (planted_ == Planted::ArraysWaitForAll && of_array) model_.stream_joins_all(call, stream(step));
        model_.copy(call, stream(step), dst, src, form);
        break;
      }
      case Op::Fill:
        model_.fill(call, stream(step), memory::bytes_of_fill(work, cell, memory_), form);
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
      case Op::FreeArray:
        model_.free(call, context(0), kIdleArray);
        break;
      case Op::Hold:
      case Op::Allocate:
      case Op::AllocateHost:
      case Op::AllocateArray:
      case Op::Empty:
      case Op::If:
      case Op::While:
      case Op::Switch:
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

  // ---- graphs -------------------------------------------------------------------------------------------------------
  void launch(const Step& step, model::Call call) {
    if (step.object >= program_.graphs.size()) return;
    const std::size_t number = step.object;
    const bool holds = held_ && held_->graph == number && !after_held_;
    const FlatGraph made = flatten(program_, number, holds ? std::optional(held_->cell) : std::nullopt, planted_);
    for (const FlatGraph::Part& part : made.parts) rounds_[part.cell] = part.rounds;
    const model::Graph graph(made.nodes);
    instance_ = launches_[number]++;
    if (after_held_) {
      for (const FlatGraph::Part& part : made.parts) {
        const auto kind = made.nodes[part.node].kind;
        if (kind != model::GraphNode::Kind::Nothing)
          expect(part.cell, Order::Ordered, kind == model::GraphNode::Kind::Kernel);
      }
    }
    model_.graph_launch(call, stream(step), number, graph);
    if (after_held_ && !touches_) {
      for (const FlatGraph::Part& part : made.parts) expect(part.cell, place_of(stream(step)), true);
    }
    if (!holds) return;
    moment_ = model_.last_operation(stream(step));
    after_held_ = touches_ = true;
    check_inside(made, graph);
  }

  /// What else of the launch that holds may run beside the held node.
  void check_inside(const FlatGraph& made, const model::Graph& graph) {
    in_graph_ = true;
    model::check_graph(graph, model_, *this);
    in_graph_ = false;
    const auto held = std::find_if(made.parts.begin(), made.parts.end(),
                                   [&](const FlatGraph::Part& part) { return part.cell == held_->cell; });
    const auto round_of = [&](const FlatGraph::Part& part) {
      return held->body != 0 && part.body == held->body ? Rounds::First : Rounds::All;
    };
    for (const FlatGraph::Part& part : made.parts) {
      const bool kernel = made.nodes[part.node].kind == model::GraphNode::Kind::Kernel;
      if (made.nodes[part.node].kind == model::GraphNode::Kind::Nothing) continue;
      // Those behind it in the order of the nodes; those in front cannot come after it.
      if (part.node > held->node) expect(part.cell, Order::Ordered, kernel);
      // But the rounds of a body are one behind the other, and it is the first that holds.
      if (round_of(part) == Rounds::First) expect(part.cell, Order::Ordered, kernel, Rounds::Later);
      for (const Inside& each : inside_) {
        if (each.earlier == held->node + 1 && each.later == part.node + 1)
          note(part.cell, each.overlap, each.order, round_of(part));
      }
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
  std::map<std::size_t, std::size_t> rounds_;  ///< by cell, of what is in a body
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

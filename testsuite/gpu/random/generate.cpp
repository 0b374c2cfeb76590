// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/generate.h"

#include <random>
#include <utility>
#include <vector>

namespace streamsan::lab {
namespace {

enum class Flavour : std::uint8_t {
  Streams,
  Legacy,
  Graphs,
  Dependents,
  Values,
  Everything,
  Arrays,
  Conditions,
  Count
};

struct Weighted {
  Op op;
  /// By flavour.
  int weight[static_cast<std::size_t>(Flavour::Count)];
};

//                          streams legacy graphs dependents values everything arrays conditions
constexpr Weighted kSteps[] = {
    {Op::Kernel, /*     */ {14, 14, 8, 30, 10, 14, 8, 10}}, {Op::Copy, /*       */ {8, 8, 3, 3, 3, 8, 20, 3}},
    {Op::Fill, /*       */ {4, 4, 2, 2, 2, 4, 6, 2}},       {Op::Host, /*       */ {3, 3, 2, 2, 2, 3, 2, 2}},
    {Op::Record, /*     */ {12, 8, 8, 8, 4, 10, 10, 8}},    {Op::Wait, /*       */ {14, 9, 10, 6, 4, 12, 12, 8}},
    {Op::SyncStream, /* */ {1, 2, 1, 1, 1, 1, 1, 1}},       {Op::SyncEvent, /*  */ {1, 1, 1, 1, 1, 1, 1, 1}},
    {Op::SyncDevice, /* */ {0, 1, 0, 0, 0, 1, 0, 0}},       {Op::QueryStream, /**/ {2, 3, 1, 1, 1, 2, 2, 1}},
    {Op::QueryEvent, /* */ {3, 2, 1, 1, 1, 2, 2, 1}},       {Op::WriteValue, /* */ {0, 0, 0, 0, 12, 2, 0, 0}},
    {Op::AwaitValue, /* */ {0, 0, 0, 0, 12, 2, 0, 0}},      {Op::Launch, /*     */ {0, 0, 16, 0, 1, 5, 3, 16}},
    {Op::DestroyStream, /**/ {1, 2, 0, 0, 0, 1, 0, 0}},     {Op::DestroyEvent, /**/ {1, 0, 0, 0, 0, 1, 0, 0}},
    {Op::Free, /*       */ {0, 0, 0, 0, 0, 1, 0, 0}},       {Op::FreeHost, /*   */ {0, 0, 0, 0, 0, 1, 0, 0}},
    {Op::FreeArray, /*  */ {0, 0, 0, 0, 0, 1, 2, 0}},       {Op::AllocateArray, /**/ {0, 0, 0, 0, 0, 1, 2, 0}},
};

class Generator {
 public:
  Generator(std::uint64_t seed, unsigned devices) : random_(seed * 0x9E3779B97F4A7C15ull + 17), devices_(devices) {
    program_.seed = seed;
  }

  Program make() {
    flavour_ = static_cast<Flavour>(below(static_cast<unsigned>(Flavour::Count)));
    two_threads_ = below(4) == 0;
    streams_ = 1 + below(3);
    if (weight_of(Op::Launch) != 0) {
      launched_ = 1 + below(2);
      for (unsigned i = 0; i < launched_; ++i) program_.graphs.push_back(graph());
      for (Graph& body : bodies_) program_.graphs.push_back(std::move(body));
    }
    const std::size_t length = 5 + below(14);
    while (program_.steps.size() < length) program_.steps.push_back(step());
    hold();
    return std::move(program_);
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool chance(unsigned percent) { return below(100) < percent; }

  StreamRef stream() {
    StreamRef ref;
    if (devices_ > 1 && chance(35)) ref.device = 1;
    const unsigned kind = below(100);
    const bool legacy = flavour_ == Flavour::Legacy;
    if (kind < (legacy ? 30u : 8u)) return ref;
    if (kind < (legacy ? 40u : 12u)) return ref.type = StreamType::PerThread, ref;
    ref.type = kind < (legacy ? 80u : 45u) ? StreamType::Blocking : StreamType::NonBlocking;
    ref.index = static_cast<std::uint8_t>(below(40) == 0 ? kFirstFresh + below(2) : below(streams_));
    return ref;
  }

  void manner_of_kernel(Work& work, unsigned dependent_percent) {
    work.dependent = chance(dependent_percent);
    work.waits = chance(work.dependent ? 50 : 15);
    work.triggers = chance(55) ? Triggers::First : chance(30) ? Triggers::AfterWait : Triggers::Never;
  }

  [[nodiscard]] int weight_of(Op op) const {
    for (const Weighted& each : kSteps) {
      if (each.op == op) return each.weight[static_cast<std::size_t>(flavour_)];
    }
    return 0;
  }

  Shape shape() {
    const unsigned choice = below(flavour_ == Flavour::Arrays ? 6 : 20);
    return choice == 0 ? Shape::Slices : choice < 3 ? Shape::Rows : Shape::One;
  }

  Route route(bool in_graph) {
    constexpr Route routes[] = {Route::ToDevice, Route::FromDevice,       Route::Within,
                                Route::Within,   Route::PageableToDevice, Route::PageableFromDevice};
    constexpr Route with_arrays[] = {Route::ToArray,          Route::FromArray,    Route::DeviceToArray,
                                     Route::ArrayToDevice,    Route::WithinArrays, Route::PageableToArray,
                                     Route::PageableFromArray};
    if (chance(flavour_ == Flavour::Arrays ? 70 : flavour_ == Flavour::Everything ? 25 : 3))
      return with_arrays[below(in_graph ? 5 : 7)];
    return routes[below(in_graph ? 4 : 6)];
  }

  Work work(Op op, bool in_graph) {
    Work work{.op = op};
    const bool dependents = flavour_ == Flavour::Dependents;
    if (op == Op::Kernel && !in_graph)
      manner_of_kernel(work, dependents ? 70 : flavour_ == Flavour::Everything ? 25 : 5);
    if (op == Op::Copy) work.route = route(in_graph);
    if (op == Op::Copy || op == Op::Fill) work.shape = shape();
    // CUDA has no node that fills more than rows.
    if (op == Op::Fill && in_graph && work.shape == Shape::Slices) work.shape = Shape::Rows;
    if (op == Op::Fill && !in_graph) work.pinned = chance(20);
    return work;
  }

  Step step() {
    int total = 0;
    const auto flavour = static_cast<std::size_t>(flavour_);
    for (const Weighted& each : kSteps) total += each.weight[flavour];
    int choice = static_cast<int>(below(static_cast<unsigned>(total)));
    const Weighted* picked = kSteps;
    while (choice >= picked->weight[flavour]) choice -= (picked++)->weight[flavour];
    Step step;
    step.work = work(picked->op, false);
    step.stream = stream();
    step.thread = two_threads_ && chance(40) ? 1 : 0;
    switch (picked->op) {
      case Op::Kernel:
        // A dependent launch means something right behind another kernel.
        if (step.work.dependent && !program_.steps.empty() && chance(80)) step.stream = program_.steps.back().stream;
        break;
      case Op::Copy:
      case Op::Fill:
        step.synchronous = is_default(step.stream) && chance(40);
        break;
      case Op::Record:
        step.object =
            static_cast<std::uint8_t>(step.stream.device * kEvents + (chance(70) ? below(3) : kEvents / 2 + below(2)));
        break;
      case Op::Wait:
      case Op::SyncEvent:
      case Op::QueryEvent:
      case Op::DestroyEvent:
        step.object = known_event();
        break;
      case Op::WriteValue:
        step.object = static_cast<std::uint8_t>(flags_);
        // A flag is written once: who waits for it could be let go by either of two writes.
        if (flags_ == kFlags)
          step.work = work(Op::Kernel, false), step.object = 0;
        else
          ++flags_;
        break;
      case Op::AwaitValue:
        step.object = static_cast<std::uint8_t>(flags_ == 0 ? 0 : below(flags_));
        break;
      case Op::Launch:
        step.object = static_cast<std::uint8_t>(below(launched_));
        step.stream.device = 0;  // where the nodes are
        break;
      case Op::SyncDevice:
        step.object = step.stream.device;
        break;
      default:
        break;
    }
    return step;
  }

  static bool is_default(const StreamRef& stream) {
    return stream.type == StreamType::Legacy || stream.type == StreamType::PerThread;
  }

  /// Mostly one that was recorded.
  std::uint8_t known_event() {
    std::vector<std::uint8_t> recorded;
    for (const Step& step : program_.steps) {
      if (step.work.op == Op::Record) recorded.push_back(step.object);
    }
    if (recorded.empty() || chance(5)) return static_cast<std::uint8_t>(below(3));
    return recorded[recorded.size() - 1 - below(static_cast<unsigned>(recorded.size() < 3 ? recorded.size() : 3))];
  }

  std::vector<std::uint8_t> after(unsigned n) {
    std::vector<std::uint8_t> after;
    if (n == 0 || !chance(80)) return after;
    after.push_back(static_cast<std::uint8_t>(chance(60) ? n - 1 : below(n)));
    if (n > 1 && chance(35)) {
      const auto other = static_cast<std::uint8_t>(below(n));
      if (other != after[0]) after.push_back(other);
    }
    return after;
  }

  Graph graph() {
    Graph graph{.captured = chance(50), .nodes = {}};
    const unsigned count = 2 + below(6);
    std::vector<bool> has_dependents(count);
    for (unsigned n = 0; n < count; ++n) {
      constexpr Op ops[] = {Op::Kernel, Op::Kernel, Op::Kernel, Op::Kernel, Op::Copy, Op::Fill, Op::Host, Op::Empty};
      Op op = n == 0 ? Op::Kernel : ops[below(8)];  // a graph that does nothing is no operation for the hardware
      if (op == Op::Empty && graph.captured) op = Op::Kernel;
      const bool decides =
          chance(flavour_ == Flavour::Conditions ? 45 : 5) && bodies_.size() + 2 + launched_ <= kMostGraphs;
      Node node;
      node.work = work(op, true);
      node.after = after(n);
      if (decides) {
        node = conditional(std::move(node.after));
      } else if (op == Op::Kernel) {
        // A programmatic edge leads from a kernel to the first node behind it, and is the only one of that node.
        const bool can = node.after.size() == 1 && graph.nodes[node.after[0]].work.op == Op::Kernel &&
                         !has_dependents[node.after[0]];
        manner_of_kernel(node.work, 0);
        node.work.dependent = can && chance(40);
      }
      for (const unsigned before : node.after) has_dependents[before] = true;
      graph.nodes.push_back(node);
    }
    return graph;
  }

  /// Mostly with a body that runs.
  Node conditional(std::vector<std::uint8_t> after) {
    constexpr Op ops[] = {Op::If, Op::If, Op::While, Op::Switch};
    Node node{.work = {.op = ops[below(4)]}, .after = std::move(after)};
    const unsigned bodies = node.work.op == Op::While ? 1 : 1 + below(2);
    for (unsigned i = 0; i < bodies; ++i) {
      node.condition.bodies.push_back(static_cast<std::uint8_t>(launched_ + bodies_.size()));
      bodies_.push_back(body());
    }
    constexpr std::uint8_t rounds[] = {1, 2, 2, 3, 0};
    if (node.work.op == Op::While) node.condition.value = rounds[below(5)];
    if (node.work.op == Op::If) node.condition.value = below(bodies == 2 ? 2 : 5) != 0;
    if (node.work.op == Op::Switch)
      node.condition.value = static_cast<std::uint8_t>(chance(90) ? below(bodies) : bodies);
    node.condition.by_kernel = chance(40);
    return node;
  }

  Graph body() {
    Graph graph{.captured = chance(50), .nodes = {}};
    const unsigned count = 1 + below(4);
    for (unsigned n = 0; n < count; ++n) {
      constexpr Op ops[] = {Op::Kernel, Op::Kernel, Op::Kernel, Op::Copy, Op::Fill, Op::Empty};
      constexpr Route routes[] = {Route::ToDevice, Route::FromDevice, Route::Within};
      Op op = n == 0 ? Op::Kernel : ops[below(6)];
      if (op == Op::Empty && graph.captured) op = Op::Kernel;
      Node node{.work = work(op, true), .after = after(n)};
      if (op == Op::Copy) node.work.route = routes[below(3)];
      graph.nodes.push_back(node);
    }
    return graph;
  }

  /// Holds something early in the program, so that there is much to be seen.
  void hold() {
    std::vector<std::size_t> steps;
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Op op = program_.steps[i].work.op;
      if (op == Op::Kernel || op == Op::Host) steps.push_back(i);
      if (op == Op::Launch && !kernels_of(program_.steps[i].object).empty()) steps.push_back(i);
    }
    if (steps.empty()) {
      Step step;
      step.stream = stream();
      step.work.held = true;
      program_.steps.insert(program_.steps.begin(), step);
      return;
    }
    const std::size_t chosen = steps[below(static_cast<unsigned>((steps.size() + 1) / 2))];
    Step& step = program_.steps[chosen];
    if (step.work.op == Op::Launch) {
      const std::vector<Work*> kernels = kernels_of(step.object);
      kernels[below(static_cast<unsigned>(kernels.size()))]->held = true;
      return;
    }
    if (flavour_ == Flavour::Values && step.work.op == Op::Host) step.work = {.op = Op::Hold};
    step.work.held = true;
  }

  /// Those that a launch runs.
  std::vector<Work*> kernels_of(std::size_t graph) {
    std::vector<Work*> kernels;
    for (Node& node : program_.graphs[graph].nodes) {
      if (node.work.op == Op::Kernel) kernels.push_back(&node.work);
      for (std::size_t body = 0; body < node.condition.bodies.size(); ++body) {
        if (rounds_of(node, body) == 0) continue;
        const std::vector<Work*> inside = kernels_of(node.condition.bodies[body]);
        kernels.insert(kernels.end(), inside.begin(), inside.end());
      }
    }
    return kernels;
  }

  std::mt19937_64 random_;
  unsigned devices_;
  Program program_;
  Flavour flavour_ = Flavour::Streams;
  bool two_threads_ = false;
  unsigned streams_ = 1;
  unsigned flags_ = 0;
  unsigned launched_ = 0;      ///< graphs: the first ones of the program
  std::vector<Graph> bodies_;  ///< of conditional nodes: the graphs behind them
};

}  // namespace

Program random_program(std::uint64_t seed, unsigned devices) { return Generator(seed, devices).make(); }

}  // namespace streamsan::lab

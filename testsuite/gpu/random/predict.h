// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ordering model says of a program: which operations come after the held one.
//
// The model answers by hazards. So each operation is given bytes of its own, and the held one writes them all: a hazard
// between the two says that nothing orders them (or only an assumed rule), none says that they are ordered. What
// touches no memory in the model, host functions and writes of values, is asked for by Model::is_after. In the same way
// the host reads bytes of its own after each call: no hazard, and the model claims that the call cannot return before
// the held operation has ended.
//
// Differences from what the judge feeds the model, and why:
//   * a value that a stream waits for is a signal of an annotation (R-ANN-03), since the model's own way is to let the
//     wait join everything, which is more order than there is, on purpose;
//   * nothing is asked of a dependent launch if its stream waits for a recorded event between it and the kernel in
//     front: the model takes any wait for one that keeps the launch behind the kernel, on purpose (docs/model.md), and
//     a wait for what is over does not;
//   * a synchronisation with a blocking stream, or a query, is left out if the stream was given nothing but records and
//     waits since the legacy stream acted. The model takes these for work that waits for the legacy stream, so that the
//     host would know that it is complete; the driver seen so far returns at once, and no document says which is right;
//   * the rounds of a WHILE are one behind the other, and have one answer but where one of them holds: what the model
//     knows of bodies is a single round, whatever runs (R-GRF-27);
//   * a host node of a graph is a kernel, for it has no bytes otherwise, and its order is that of any node (R-GRF-26).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "testsuite/gpu/random/observe.h"
#include "testsuite/gpu/random/program.h"

namespace streamsan::lab {

enum class Order : std::uint8_t {
  NotAsked,   ///< submitted before the held operation, or without bytes
  Unordered,  ///< it may run beside the held operation
  Assumed,    ///< only an assumed rule keeps it behind
  Ordered,    ///< documented rules keep it behind
};

inline constexpr std::size_t kInstances = 4;  ///< launches of a graph that are distinguished

struct Predicted {
  Order begin = Order::NotAsked;
  Order waited = Order::NotAsked;  ///< a kernel behind its wait
};

struct Prediction {
  std::array<std::array<Predicted, kInstances>, kCells> cells{};
  std::vector<Order> host;  ///< after each step: does the host know that the held operation is complete?
};

/// A wrong edge planted into what the model is given, to show that the comparison finds it.
enum class Planted : std::uint8_t {
  Nothing,
  NonBlockingJoinsLegacy,
  EventsRecordLater,
  DependentsAreOrdinary,
  ArraysWaitForAll,      ///< a copy of an array
  ConditionsWaitForAll,  ///< a conditional node, for all nodes in front
};

/// `observation`: only what queries answered.
Prediction predict(const Program& program, const Observation& observation, Planted planted = Planted::Nothing);

const char* name_of(Order order);

}  // namespace streamsan::lab

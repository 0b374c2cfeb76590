// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small CUDA programs that ask the hardware what is ordered.
//
// One operation of each program is HELD: a kernel, a host function or a wait for a value that does not end before the
// experiment lets it. What is seen to run meanwhile is not ordered behind it. The same program is given to the ordering
// model (predict.h), to the hardware (execute.h) and, where there is none, to a simulation (simulate.h); compare.h says
// whether they agree. The laboratory (../order-lab) asks chosen questions by such programs, the random test makes them up.
//
// A program is text, one step a line, so that a disagreement can be read, cut down and kept:
//
//     graph 0 captured: kernel; kernel held after 0; fill after 0
//     kernel b0 triggers held        blocking stream 0; lets a dependent launch begin, and is held
//     kernel b0 dependent waits      a programmatic dependent launch that waits for the one in front
//     record e0 b0
//     wait n1 e0                     non-blocking stream 1 waits for event 0; t0 would be an event with timing
//     1: copy P to-device            thread 1, its per-thread default stream; L is the legacy default stream
//     launch 0 n1@1                  a graph, in a stream of the second device
//
// Any step may be deleted and what is left is still a program: a wait for an event that is not recorded is a wait for
// nothing, as in CUDA. A wait for a value is the exception (it would never end), so it is left out when nothing before it
// writes the value. Streams from number 8 on are made when the program first uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace streamsan::lab {

inline constexpr std::size_t kMostSteps = 64;
inline constexpr std::size_t kMostGraphs = 4;
inline constexpr std::size_t kMostNodes = 16;
inline constexpr std::size_t kCells = kMostSteps + kMostGraphs * kMostNodes;
inline constexpr unsigned kEvents = 8;  ///< of each device; the upper half has timing
inline constexpr unsigned kFlags = 8;
inline constexpr unsigned kStreams = 10;  ///< of each kind
inline constexpr unsigned kFirstFresh = 8;

enum class Op : std::uint8_t {
  Kernel,
  Copy,
  Fill,
  Host,
  Record,
  Wait,
  SyncStream,
  SyncEvent,
  SyncDevice,
  QueryStream,
  QueryEvent,
  WriteValue,
  AwaitValue,
  Hold,  ///< a wait for a value that the experiment writes
  Launch,
  DestroyStream,
  DestroyEvent,
  Free,          ///< of idle device memory
  FreeHost,      ///< of idle pinned memory
  Allocate,      ///< device memory
  AllocateHost,  ///< pinned memory
  Empty,         ///< a node only
};

enum class StreamType : std::uint8_t { Legacy, PerThread, Blocking, NonBlocking };

struct StreamRef {
  StreamType type = StreamType::Legacy;
  std::uint8_t index = 0;
  std::uint8_t device = 0;
  friend bool operator==(const StreamRef&, const StreamRef&) = default;
};

enum class Route : std::uint8_t { ToDevice, FromDevice, Within, PageableToDevice, PageableFromDevice };

enum class Triggers : std::uint8_t { Never, First, AfterWait };

/// What a step or a node of a graph does on the device.
struct Work {
  Op op = Op::Kernel;
  Route route = Route::Within;
  Triggers triggers = Triggers::Never;
  bool held = false;
  bool dependent = false;  ///< launched with programmatic serialisation; of a node: its edges are programmatic
  bool waits = false;      ///< the kernel waits for the one in front
  bool wide = false;       ///< a kernel of 64 blocks
  bool pinned = false;     ///< a fill of pinned host memory
};

struct Step {
  Work work;
  std::uint8_t thread = 0;
  StreamRef stream;
  std::uint8_t object = 0;  ///< event (device * kEvents + number), flag, graph, device
  bool synchronous = false;
};

struct Node {
  Work work;
  std::vector<std::uint8_t> after;  ///< each smaller than its own number
};

struct Graph {
  bool captured = false;
  std::vector<Node> nodes;
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<Graph> graphs;
  std::vector<Step> steps;
};

/// Where the marks of a step or a node are.
constexpr std::size_t cell_of_step(std::size_t step) { return step; }
constexpr std::size_t cell_of_node(std::size_t graph, std::size_t node) {
  return kMostSteps + graph * kMostNodes + node;
}

/// The held operation: a step, or a node of a graph (that the first launch of the graph holds).
struct Held {
  std::size_t cell = 0;
  std::size_t step = 0;  ///< that submits it
  std::optional<std::size_t> graph{};
  std::size_t node = 0;
};
/// None: nothing is held, or the graph that holds is never launched.
std::optional<Held> held_of(const Program& program);

std::string describe(const Step& step);
std::string describe(const Program& program);
/// Throws std::runtime_error with the line that it does not understand.
Program parse(const std::string& text);

}  // namespace streamsan::lab

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small CUDA programs that ask the hardware what is ordered.
//
// One operation of each program is HELD: a kernel, a host function or a wait for a value that does not end before the
// experiment lets it. What is seen to run meanwhile is not ordered behind it. The same program is given to the ordering
// model (predict.h), to the hardware (execute.h) and, where there is none, to a simulation (simulate.h); compare.h says
// whether they agree. The laboratory (../order-lab) asks chosen questions by such programs, the random test makes them
// up.
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
//     copy n0 to-array rows          two rows of an array; slices: of two slices of one that has three dimensions
//     fill n0 slices
//     graph 0 explicit: kernel; if 1 2 value 0 by-kernel after 0; kernel after 1
//     graph 1 captured: kernel; kernel after 0    the body of that IF, and graph 2 its ELSE
//     graph 2 explicit: kernel held               "while 1 value 2" has two rounds, "switch 1 2 value 1" runs graph 2
//
// A graph that a conditional node names is its body, of no other node, and is never launched by itself. The value is
// what the condition's handle has at each launch, or what a kernel right in front of the node sets ("by-kernel").
// Bodies have kernels, copies and fills of memory, and empty nodes, as CUDA has it; no conditional nodes here.
//
// Any step may be deleted and what is left is still a program: a wait for an event that is not recorded is a wait for
// nothing, as in CUDA. A wait for a value is the exception (it would never end), so it is left out when nothing before
// it writes the value. Streams from number 8 on are made when the program first uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace streamsan::lab {

inline constexpr std::size_t kMostSteps = 64;
inline constexpr std::size_t kMostGraphs = 6;
inline constexpr std::size_t kMostNodes = 16;
inline constexpr std::size_t kCells = kMostSteps + kMostGraphs * kMostNodes;
inline constexpr unsigned kEvents = 8;  ///< of each device; the upper half has timing
inline constexpr unsigned kFlags = 8;
inline constexpr unsigned kStreams = 10;  ///< of each kind
inline constexpr unsigned kFirstFresh = 8;
inline constexpr std::size_t kRows = 2;  ///< of "rows" and "slices"
inline constexpr std::size_t kSlices = 2;
inline constexpr unsigned kMostRounds = 4;  ///< of a WHILE

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
  FreeArray,     ///< an idle one
  AllocateArray,
  Empty,  ///< a node only, and so are the next
  If,
  While,
  Switch,
};

enum class StreamType : std::uint8_t { Legacy, PerThread, Blocking, NonBlocking };

struct StreamRef {
  StreamType type = StreamType::Legacy;
  std::uint8_t index = 0;
  std::uint8_t device = 0;
  friend bool operator==(const StreamRef&, const StreamRef&) = default;
};

enum class Route : std::uint8_t {
  ToDevice,
  FromDevice,
  Within,
  PageableToDevice,
  PageableFromDevice,
  ToArray,
  FromArray,
  DeviceToArray,
  ArrayToDevice,
  WithinArrays,
  PageableToArray,
  PageableFromArray,
};

/// Where a copy leads, and where from.
enum class Side : std::uint8_t { Device, Pinned, Pageable, Array };
struct Sides {
  Side to = Side::Device;
  Side from = Side::Device;
};
Sides sides_of(Route route);
constexpr bool is_on_device(Side side) { return side == Side::Device || side == Side::Array; }

/// How many elements a copy or fill has: one, kRows rows of one, or as many rows of kSlices slices.
enum class Shape : std::uint8_t { One, Rows, Slices };
constexpr std::size_t rows_of(Shape shape) { return shape == Shape::One ? 1 : kRows; }
constexpr std::size_t slices_of(Shape shape) { return shape == Shape::Slices ? kSlices : 1; }

enum class Triggers : std::uint8_t { Never, First, AfterWait };

/// What a step or a node of a graph does on the device.
struct Work {
  Op op = Op::Kernel;
  Route route = Route::Within;
  Shape shape = Shape::One;
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

/// What a conditional node decides.
struct Condition {
  std::vector<std::uint8_t> bodies;  ///< numbers of graphs
  std::uint8_t value = 1;            ///< IF: 0 or 1; WHILE: rounds; SWITCH: of the bodies, from 0
  bool by_kernel = false;            ///< set by a kernel in front; else the handle has it at each launch
};

struct Node {
  Work work;
  std::vector<std::uint8_t> after;  ///< each smaller than its own number
  Condition condition{};
};

constexpr bool is_conditional(Op op) { return op == Op::If || op == Op::While || op == Op::Switch; }
/// How often a launch runs that body of the conditional node.
unsigned rounds_of(const Node& node, std::size_t body);

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

/// The held operation: a step, or a node of a graph or of a body in it (that the first launch of the graph holds).
struct Held {
  std::size_t cell = 0;
  std::size_t step = 0;                ///< that submits it
  std::optional<std::size_t> graph{};  ///< that is launched
};
/// None: nothing is held, or the graph or body that holds never runs.
std::optional<Held> held_of(const Program& program);

/// Does the graph belong to a conditional node?
bool is_body(const Program& program, std::size_t graph);
/// Throws std::runtime_error if a body is not what CUDA allows, or not what is promised above.
void check_bodies(const Program& program);

std::string describe(const Step& step);
std::string describe(const Program& program);
/// Throws std::runtime_error with the line that it does not understand.
Program parse(const std::string& text);

}  // namespace streamsan::lab

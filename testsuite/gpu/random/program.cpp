// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs as text: one table of words for both directions.
#include "testsuite/gpu/random/program.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace streamsan::lab {
namespace {

/// What the verb of a step is followed by in the text of a program.
enum class Takes : std::uint8_t {
  Stream,
  Event,
  EventStream,
  StreamEvent,
  StreamFlag,
  GraphStream,
  Device,
  Nothing,
  Bodies
};

struct Verb {
  Op op;
  const char* word;
  Takes takes;
};

constexpr Verb kVerbs[] = {
    {Op::Kernel, "kernel", Takes::Stream},
    {Op::Copy, "copy", Takes::Stream},
    {Op::Fill, "fill", Takes::Stream},
    {Op::Host, "host", Takes::Stream},
    {Op::Record, "record", Takes::EventStream},
    {Op::Wait, "wait", Takes::StreamEvent},
    {Op::SyncStream, "sync", Takes::Stream},
    {Op::SyncEvent, "sync-event", Takes::Event},
    {Op::SyncDevice, "sync-device", Takes::Device},
    {Op::QueryStream, "query", Takes::Stream},
    {Op::QueryEvent, "query-event", Takes::Event},
    {Op::WriteValue, "write", Takes::StreamFlag},
    {Op::AwaitValue, "await", Takes::StreamFlag},
    {Op::Hold, "hold", Takes::Stream},
    {Op::Launch, "launch", Takes::GraphStream},
    {Op::DestroyStream, "destroy", Takes::Stream},
    {Op::DestroyEvent, "destroy-event", Takes::Event},
    {Op::Free, "free", Takes::Nothing},
    {Op::FreeHost, "free-host", Takes::Nothing},
    {Op::Allocate, "allocate", Takes::Nothing},
    {Op::AllocateHost, "allocate-host", Takes::Nothing},
    {Op::FreeArray, "free-array", Takes::Nothing},
    {Op::AllocateArray, "allocate-array", Takes::Nothing},
    {Op::Empty, "empty", Takes::Nothing},
    {Op::If, "if", Takes::Bodies},
    {Op::While, "while", Takes::Bodies},
    {Op::Switch, "switch", Takes::Bodies},
};

struct RouteWord {
  Route route;
  const char* word;
  Sides sides;
};

constexpr RouteWord kRoutes[] = {
    {Route::ToDevice, "to-device", {Side::Device, Side::Pinned}},
    {Route::FromDevice, "from-device", {Side::Pinned, Side::Device}},
    {Route::Within, "within", {Side::Device, Side::Device}},
    {Route::PageableToDevice, "pageable-to-device", {Side::Device, Side::Pageable}},
    {Route::PageableFromDevice, "pageable-from-device", {Side::Pageable, Side::Device}},
    {Route::ToArray, "to-array", {Side::Array, Side::Pinned}},
    {Route::FromArray, "from-array", {Side::Pinned, Side::Array}},
    {Route::DeviceToArray, "device-to-array", {Side::Array, Side::Device}},
    {Route::ArrayToDevice, "array-to-device", {Side::Device, Side::Array}},
    {Route::WithinArrays, "within-arrays", {Side::Array, Side::Array}},
    {Route::PageableToArray, "pageable-to-array", {Side::Array, Side::Pageable}},
    {Route::PageableFromArray, "pageable-from-array", {Side::Pageable, Side::Array}},
};

const RouteWord& word_of(Route route) {
  return *std::find_if(std::begin(kRoutes), std::end(kRoutes),
                       [route](const RouteWord& each) { return each.route == route; });
}

const Verb& verb_of(Op op) {
  return *std::find_if(std::begin(kVerbs), std::end(kVerbs), [op](const Verb& verb) { return verb.op == op; });
}

std::string at(unsigned device) { return device == 0 ? "" : "@" + std::to_string(device); }

std::string describe(const StreamRef& stream) {
  switch (stream.type) {
    case StreamType::Legacy:
      return "L" + at(stream.device);
    case StreamType::PerThread:
      return "P" + at(stream.device);
    case StreamType::Blocking:
      return "b" + std::to_string(stream.index) + at(stream.device);
    case StreamType::NonBlocking:
      return "n" + std::to_string(stream.index) + at(stream.device);
  }
  return "?";
}

std::string describe_event(unsigned object) {
  const unsigned number = object % kEvents;
  const bool timing = number >= kEvents / 2;
  return (timing ? "t" : "e") + std::to_string(timing ? number - kEvents / 2 : number) + at(object / kEvents);
}

/// The words behind the names: what is special about the work.
std::string describe(const Work& work, bool synchronous) {
  std::string text;
  if (work.op == Op::Copy) text += std::string(" ") + word_of(work.route).word;
  if (work.shape == Shape::Rows) text += " rows";
  if (work.shape == Shape::Slices) text += " slices";
  if (work.dependent) text += " dependent";
  if (work.waits) text += " waits";
  if (work.triggers == Triggers::First) text += " triggers";
  if (work.triggers == Triggers::AfterWait) text += " triggers-late";
  if (work.wide) text += " wide";
  if (work.pinned) text += " pinned";
  if (synchronous) text += " sync";
  if (work.held) text += " held";
  return text;
}

std::string describe(const Condition& condition) {
  std::string text;
  for (const unsigned body : condition.bodies) text += " " + std::to_string(body);
  if (condition.bodies.empty()) return text;
  text += " value " + std::to_string(condition.value);
  return condition.by_kernel ? text + " by-kernel" : text;
}

/// Reads the words of a line one by one.
class Words {
 public:
  explicit Words(const std::string& line) : line_(line), stream_(line) { next(); }
  [[nodiscard]] const std::string& word() const { return word_; }
  [[nodiscard]] bool over() const { return word_.empty(); }
  std::string take() {
    if (over()) fail("ends too early");
    std::string taken = word_;
    next();
    return taken;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("program: " + why + " at '" + word_ + "': " + line_);
  }
  unsigned number(const std::string& text, unsigned below) const {
    unsigned value = 0;
    if (text.empty() || text.size() > 4) fail("no number '" + text + "'");
    for (const char digit : text) {
      if (digit < '0' || digit > '9') fail("no number '" + text + "'");
      value = value * 10 + static_cast<unsigned>(digit - '0');
    }
    if (value >= below) fail("too large '" + text + "'");
    return value;
  }

 private:
  void next() {
    word_.clear();
    stream_ >> word_;
  }

  std::string line_;
  std::istringstream stream_;
  std::string word_;
};

/// "name@1": the name, and the device.
std::pair<std::string, std::uint8_t> place(const Words& words, const std::string& word) {
  const std::size_t mark = word.find('@');
  if (mark == std::string::npos) return {word, 0};
  return {word.substr(0, mark), static_cast<std::uint8_t>(words.number(word.substr(mark + 1), 2))};
}

StreamRef stream_named(Words& words) {
  const auto [name, device] = place(words, words.take());
  StreamRef stream{.device = device};
  if (name == "L" || name == "P") {
    stream.type = name == "L" ? StreamType::Legacy : StreamType::PerThread;
  } else if (name.size() > 1 && (name[0] == 'b' || name[0] == 'n')) {
    stream.type = name[0] == 'b' ? StreamType::Blocking : StreamType::NonBlocking;
    stream.index = static_cast<std::uint8_t>(words.number(name.substr(1), kStreams));
  } else {
    words.fail("no stream '" + name + "'");
  }
  return stream;
}

std::uint8_t event_named(Words& words) {
  const auto [name, device] = place(words, words.take());
  if (name.size() < 2 || (name[0] != 'e' && name[0] != 't')) words.fail("no event '" + name + "'");
  const unsigned number = words.number(name.substr(1), kEvents / 2) + (name[0] == 't' ? kEvents / 2 : 0);
  return static_cast<std::uint8_t>(device * kEvents + number);
}

/// True: the word says something about the work.
bool is_manner(Work& work, const std::string& word) {
  if (work.op == Op::Copy) {
    for (const RouteWord& each : kRoutes) {
      if (word != each.word) continue;
      work.route = each.route;
      return true;
    }
  }
  if (work.op == Op::Copy || work.op == Op::Fill) {
    if (word == "rows") return work.shape = Shape::Rows, true;
    if (word == "slices") return work.shape = Shape::Slices, true;
  }
  if (work.op == Op::Kernel) {
    if (word == "dependent") return work.dependent = true;
    if (word == "waits") return work.waits = true;
    if (word == "wide") return work.wide = true;
    if (word == "triggers") return work.triggers = Triggers::First, true;
    if (word == "triggers-late") return work.triggers = Triggers::AfterWait, true;
  }
  if (work.op == Op::Fill && word == "pinned") return work.pinned = true;
  if ((work.op == Op::Kernel || work.op == Op::Host) && word == "held") return work.held = true;
  return false;
}

const Verb& verb_named(const Words& words, const std::string& word) {
  const auto* verb =
      std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const Verb& each) { return word == each.word; });
  if (verb == std::end(kVerbs)) words.fail("unknown word '" + word + "'");
  return *verb;
}

Step parse_step(const std::string& line) {
  Words words(line);
  Step step;
  if (words.word() == "1:") step.thread = static_cast<std::uint8_t>(words.take() == "1:");
  const std::string name = words.take();  // not a temporary: g++ 13 takes the verb for a part of it
  const Verb& verb = verb_named(words, name);
  step.work.op = verb.op;
  step.work.held = verb.op == Op::Hold;
  switch (verb.takes) {
    case Takes::Stream:
      step.stream = stream_named(words);
      break;
    case Takes::Event:
      step.object = event_named(words);
      break;
    case Takes::EventStream:
      step.object = event_named(words), step.stream = stream_named(words);
      break;
    case Takes::StreamEvent:
      step.stream = stream_named(words), step.object = event_named(words);
      break;
    case Takes::StreamFlag:
      step.stream = stream_named(words);
      step.object = static_cast<std::uint8_t>(words.number(words.take(), kFlags));
      break;
    case Takes::GraphStream:
      step.object = static_cast<std::uint8_t>(words.number(words.take(), kMostGraphs));
      step.stream = stream_named(words);
      break;
    case Takes::Device:
      step.object = static_cast<std::uint8_t>(words.number(words.take(), 2));
      break;
    case Takes::Nothing:
      break;
    case Takes::Bodies:
      words.fail("only a node is conditional");
  }
  while (!words.over()) {
    const std::string word = words.take();
    if (word == "sync" && (verb.op == Op::Copy || verb.op == Op::Fill)) {
      step.synchronous = true;
    } else if (!is_manner(step.work, word)) {
      words.fail("unknown word '" + word + "'");
    }
  }
  return step;
}

/// True: the word, and what follows it, says something about the condition.
bool is_condition(Node& node, const std::string& word, Words& words) {
  if (!is_conditional(node.work.op)) return false;
  Condition& condition = node.condition;
  if (word == "by-kernel") return condition.by_kernel = true;
  if (word == "value")
    return condition.value = static_cast<std::uint8_t>(words.number(words.take(), kMostRounds + 1)), true;
  condition.bodies.push_back(static_cast<std::uint8_t>(words.number(word, kMostGraphs)));
  return true;
}

Node parse_node(const std::string& text, std::size_t number) {
  Words words(text);
  Node node;
  node.work.op = verb_named(words, words.take()).op;
  while (!words.over() && words.word() != "after") {
    const std::string word = words.take();
    if (!is_condition(node, word, words) && !is_manner(node.work, word)) words.fail("unknown word '" + word + "'");
  }
  if (words.over()) return node;
  for (words.take(); !words.over();)
    node.after.push_back(static_cast<std::uint8_t>(words.number(words.take(), static_cast<unsigned>(number))));
  return node;
}

Graph parse_graph(const std::string& line, std::size_t expected) {
  const std::size_t colon = line.find(':');
  Words words(line.substr(0, colon));
  words.take();
  if (colon == std::string::npos || words.number(words.take(), kMostGraphs) != expected) words.fail("no graph");
  Graph graph;
  const std::string how = words.take();
  if (how != "captured" && how != "explicit") words.fail("neither captured nor explicit");
  graph.captured = how == "captured";
  std::istringstream nodes(line.substr(colon + 1));
  for (std::string node; std::getline(nodes, node, ';');) graph.nodes.push_back(parse_node(node, graph.nodes.size()));
  if (graph.nodes.empty() || graph.nodes.size() > kMostNodes) words.fail("no nodes, or too many");
  return graph;
}

}  // namespace

Sides sides_of(Route route) { return word_of(route).sides; }

std::string describe(const Step& step) {
  const Verb& verb = verb_of(step.work.op);
  std::string text = step.thread == 1 ? "1: " : "";
  text += verb.word;
  const std::string stream = " " + describe(step.stream);
  switch (verb.takes) {
    case Takes::Stream:
      text += stream;
      break;
    case Takes::Event:
      text += " " + describe_event(step.object);
      break;
    case Takes::EventStream:
      text += " " + describe_event(step.object) + stream;
      break;
    case Takes::StreamEvent:
      text += stream + " " + describe_event(step.object);
      break;
    case Takes::StreamFlag:
      text += stream + " " + std::to_string(step.object);
      break;
    case Takes::GraphStream:
      text += " " + std::to_string(step.object) + stream;
      break;
    case Takes::Device:
      text += " " + std::to_string(step.object);
      break;
    case Takes::Nothing:
    case Takes::Bodies:
      break;
  }
  return step.work.op == Op::Hold ? text : text + describe(step.work, step.synchronous);
}

std::string describe(const Program& program) {
  std::string text;
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const Graph& graph = program.graphs[g];
    text += "graph " + std::to_string(g) + (graph.captured ? " captured:" : " explicit:");
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      text += std::string(n == 0 ? " " : "; ") + verb_of(node.work.op).word + describe(node.condition);
      text += describe(node.work, false);
      if (!node.after.empty()) text += " after";
      for (const unsigned before : node.after) text += " " + std::to_string(before);
    }
    text += '\n';
  }
  for (const Step& step : program.steps) text += describe(step) + '\n';
  return text;
}

Program parse(const std::string& text) {
  Program program;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    line.erase(0, begin);
    if (line.rfind("graph ", 0) == 0) {
      program.graphs.push_back(parse_graph(line, program.graphs.size()));
    } else {
      program.steps.push_back(parse_step(line));
    }
  }
  if (program.steps.size() > kMostSteps) throw std::runtime_error("program: too many steps");
  check_bodies(program);
  return program;
}

}  // namespace streamsan::lab

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Making random programs, writing them down, and playing them to the reference model.
#include "analyzer/analysis/tests/random_script.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>

namespace streamsan::analyzer::testing {
namespace {

using ordering::Address;
using ordering::Call;
using ordering::ContextId;
using ordering::EventId;
using ordering::Footprint;
using ordering::Form;
using ordering::MemoryKind;
using ordering::OpId;
using ordering::ReferenceModel;
using ordering::StreamId;
using ordering::StreamKind;
using Kind = Statement::Kind;

constexpr ordering::ThreadId kThread{0};
constexpr ordering::Bytes kBytes = 512;

struct Variable {
  const char* name;
  MemoryKind kind;
  const char* made;   ///< after "alloc NAME"; async: and a stream
  const char* freed;  ///< the statement
};
constexpr Variable kVariables[] = {
    {"d0", MemoryKind::Device, "device", "free"},     {"d1", MemoryKind::Device, "device", "free"},
    {"t0", MemoryKind::DeviceAsync, "async", "free"}, {"h0", MemoryKind::Pinned, "pinned", "freehost"},
    {"m0", MemoryKind::Managed, "managed", "free"},   {"p0", MemoryKind::Pageable, "pageable", "delete"},
};
constexpr unsigned kDeviceVariables = 2, kAsync = 2;

std::string stream_name(unsigned stream) {
  return stream == 0 ? "legacy" : stream == 1 ? "ptds" : "s" + std::to_string(stream - 1);
}

}  // namespace

RandomScript::RandomScript(unsigned seed, Mixture mixture) : mixture_(mixture) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  unsigned device = 0;
  bool dead = false;  // the stream-ordered memory
  const auto pick_stream = [&] { return below(mixture.devices ? 6 : 4); };
  for (unsigned segment = 0; segment < 6; ++segment) {
    segments_.emplace_back();
    for (unsigned i = 0, count = 1 + below(4); i < count; ++i) {
      static constexpr Kind kOrder[] = {Kind::Launch, Kind::Launch,    Kind::Launch, Kind::Record,
                                        Kind::Record, Kind::Wait,      Kind::Wait,   Kind::Sync,
                                        Kind::Device, Kind::SyncEvent, Kind::Query,  Kind::QueryEvent};
      static constexpr Kind kMemory[] = {Kind::Copy, Kind::Copy, Kind::Copy,      Kind::Fill,
                                         Kind::Host, Kind::Free, Kind::FreeAsync, Kind::HostFunction};
      Statement s{.kind = kOrder[below(below(4) == 0 ? 12 : 7)]};
      if (mixture.memory && below(2) == 0) s.kind = kMemory[below(8)];
      // Of a path that joins another it would not be known which device is the current one.
      if (mixture.devices && !mixture.branches && below(5) == 0) s.kind = Kind::SetDevice;
      s.stream = pick_stream();
      s.memory = below(mixture.memory && below(2) == 0 ? 6 : kDeviceVariables);
      s.source = below(6);
      s.writes = below(2) == 0;
      s.synchronous = below(3) == 0;
      s.known = s.kind == Kind::SetDevice ? !mixture.unknown_devices || below(3) != 0 : below(2) == 0;
      s.event = below(mixture.devices ? 4 : 2);
      s.device = below(2);
      // R-EVT-02
      if (s.kind == Kind::Record) s.event = (s.stream < 2 ? device : (s.stream - 2) / 2) * 2 + below(2);
      if (s.kind == Kind::SetDevice) device = s.device;
      if (s.kind == Kind::Host) s.memory = below(2) == 0 ? 3 : 4;
      if (s.kind == Kind::FreeAsync) s.memory = kAsync;
      if (s.kind == Kind::Launch || s.kind == Kind::Fill) s.memory = std::min(s.memory, 4u);
      // On which path memory lives again is lost, and with that of which kind it is.
      const bool always = !mixture.branches || segment == 0 || segment == 2 || segment == 5;
      if (!always && (s.kind == Kind::Free || s.kind == Kind::FreeAsync)) s.kind = Kind::Launch, s.memory = 0;
      // What a copy waits for is asked of memory that lives.
      if (dead && s.kind == Kind::Copy && s.memory == kAsync) s.memory = 0;
      if (dead && s.kind == Kind::Copy && s.source == kAsync) s.source = 1;
      if (s.kind == Kind::FreeAsync) s.known = s.known || mixture.branches;
      if (s.kind == Kind::FreeAsync) dead = !s.known;
      if (s.kind == Kind::Free && s.memory == kAsync) dead = false;
      segments_.back().push_back(s);
    }
  }
}

std::string RandomScript::text(bool loops) const {
  std::string out;
  int line = 0;
  const auto say = [&](const std::string& words) {
    out += words + "\n";
    ++line;
  };
  if (mixture_.devices) say("setdevice 0");
  say("stream s1");
  say("stream s2 nonblocking");
  say("event e0");
  say("event e1");
  if (mixture_.devices) {
    say("setdevice 1");
    say("stream s3");
    say("stream s4 nonblocking");
    say("event e2");
    say("event e3");
    say("setdevice 0");
  }
  allocations_ = line + 1;
  for (const Variable& each : kVariables)
    say(std::string("alloc ") + each.name + " " + each.made + (each.kind == MemoryKind::DeviceAsync ? " s1" : ""));
  int launches = 0;
  lines_.assign(segments_.size(), {});
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    static const char* const kBefore[] = {"A:", "loop B:", "C:", "D:", "E:", "F:"};
    if (mixture_.branches) say(kBefore[i]);
    for (const Statement& s : segments_[i]) {
      const Variable& variable = kVariables[s.memory];
      const std::string stream = stream_name(s.stream), event = "e" + std::to_string(s.event);
      const std::string sync = s.synchronous ? " sync" : "";
      lines_[i].push_back(line + 1);
      switch (s.kind) {
        case Kind::Launch:
          say("launch k" + std::to_string(launches++) + " " + stream + (s.writes ? " w:" : " r:") + variable.name);
          break;
        case Kind::Record:
          say("record " + event + " " + stream);
          break;
        case Kind::Wait:
          say("wait " + stream + " " + event);
          break;
        case Kind::Sync:
          say("sync " + stream);
          break;
        case Kind::SyncEvent:
          say("syncevent " + event);
          break;
        case Kind::Device:
          say("device");
          break;
        case Kind::Query:
          say("query " + stream);
          break;
        case Kind::QueryEvent:
          say("queryevent " + event);
          break;
        case Kind::HostFunction:
          say("hostfn " + stream);
          break;
        case Kind::Copy:
          say("copy " + stream + " " + variable.name + " " + kVariables[s.source].name + sync);
          break;
        case Kind::Fill:
          say("fill " + stream + " " + variable.name + sync);
          break;
        case Kind::Host:
          say(std::string("host ") + (s.writes ? "w:" : "r:") + variable.name);
          break;
        case Kind::Free:
          say(std::string(variable.freed) + " " + variable.name);
          say(std::string("alloc ") + variable.name + " " + variable.made +
              (variable.kind == MemoryKind::DeviceAsync ? " " + stream : ""));
          break;
        case Kind::FreeAsync:
          say(std::string("freeasync ") + variable.name + " " + stream);
          if (s.known) say(std::string("alloc ") + variable.name + " async " + stream);
          break;
        case Kind::SetDevice:
          say("setdevice" + (s.known ? " " + std::to_string(s.device) : ""));
          break;
      }
    }
    static const char* const kAfter[] = {"goto B C", "goto C", "goto D E", "goto F", "goto F", ""};
    static const char* const kLoops[] = {"goto B C", "goto C B", "goto D E", "goto F B", "goto F", ""};
    if (mixture_.branches) say(loops ? kLoops[i] : kAfter[i]);
  }
  return out;
}

std::vector<std::vector<unsigned>> RandomScript::paths() const {
  if (!mixture_.branches) return {{0, 1, 2, 3, 4, 5}};
  return {{0, 1, 2, 3, 5}, {0, 2, 3, 5}, {0, 1, 2, 4, 5}, {0, 2, 4, 5}};
}

bool RandomScript::has_queries() const {
  return std::ranges::any_of(segments_, [](const auto& segment) {
    return std::ranges::any_of(segment,
                               [](const Statement& s) { return s.kind == Kind::Query || s.kind == Kind::QueryEvent; });
  });
}

namespace {

/// Plays statements to the reference, and tells its pairs in the script's terms.
class Player {
 public:
  Player(bool devices, int line, Differences differences) : differences_(differences), devices_(devices) {
    for (const unsigned device : {0u, 1u}) {
      for (const StreamKind kind : {StreamKind::Blocking, StreamKind::NonBlocking})
        streams_.push_back(model_.create_stream(ContextId{devices ? device : 0}, kind));
      for (int i = 0; i < 2; ++i) events_.push_back(model_.create_event());
    }
    for (unsigned i = 0; i < std::size(kVariables); ++i) allocate(i, streams_[0], line++);
  }

  void play(const Statement& s, int line, bool queries_succeed) {
    if (s.kind == Kind::SetDevice) known_ = s.known;
    const bool weaker = in_order_with_all(s);
    if (weaker) join_all(line);
    act(s, line, queries_succeed);
    if (weaker) join_all(line);
    judged_.lines.push_back(line);
  }

  Judged take() { return std::move(judged_); }

 private:
  [[nodiscard]] bool differs(Difference difference) const { return differences_[static_cast<std::size_t>(difference)]; }

  /// What a default stream does is in order with all, if it is not known of which device it is.
  [[nodiscard]] bool in_order_with_all(const Statement& s) const {
    switch (s.kind) {
      case Kind::Host:
      case Kind::SyncEvent:
      case Kind::QueryEvent:
      case Kind::SetDevice:
        return false;
      case Kind::Free:
        return devices_ && differs(Difference::FreeWaitsForAll);
      case Kind::Device:
        return !known_ && differs(Difference::DeviceNotKnown);
      default:
        break;
    }
    if (s.stream > 1) return false;
    const auto is_host = [](unsigned variable) {
      const MemoryKind kind = kVariables[variable].kind;
      return kind == MemoryKind::Pinned || kind == MemoryKind::Pageable;
    };
    const bool between = s.kind == Kind::Copy && s.stream == 0 && !is_host(s.memory) && !is_host(s.source);
    return (between && devices_ && differs(Difference::CopyBetweenDevices)) ||
           (!known_ && differs(Difference::DeviceNotKnown));
  }

  void join_all(int line) {
    for (const unsigned device : {0u, 1u}) {
      model_.sync_context({kThread, ordering::SiteId{static_cast<std::uint32_t>(line)}}, ContextId{device});
      model_.returned(kThread, true);
    }
  }

  void act(const Statement& s, int line, bool queries_succeed) {
    const Call call{kThread, ordering::SiteId{static_cast<std::uint32_t>(line)}};
    const Form form = s.synchronous ? Form::Synchronous : Form::Asynchronous;
    switch (s.kind) {
      case Kind::Launch: {
        const ordering::KernelBytes bytes{.bytes = whole(s.memory),
                                          .mode = s.writes ? ordering::AccessMode::Write : ordering::AccessMode::Read};
        model_.launch(call, stream(s), {.function = ordering::FunctionId{static_cast<std::uint32_t>(line)}}, {},
                      {&bytes, 1});
        break;
      }
      case Kind::Record:
        model_.record_event(call, stream(s), events_[s.event]);
        break;
      case Kind::Wait:
        model_.wait_event(call, stream(s), events_[s.event]);
        break;
      case Kind::Sync:
        cover_legacy(s, call);
        model_.sync_stream(call, stream(s));
        break;
      case Kind::SyncEvent:
        model_.sync_event(call, events_[s.event]);
        break;
      case Kind::Device:
        model_.sync_context(call, ContextId{device_});
        break;
      case Kind::Query:
        if (queries_succeed) {
          cover_legacy(s, call);
          model_.query_stream_succeeded(call, stream(s));
        }
        break;
      case Kind::QueryEvent:
        if (queries_succeed) model_.query_event_succeeded(call, events_[s.event]);
        break;
      case Kind::HostFunction:
        model_.host_function(call, stream(s));
        break;
      case Kind::Copy:
        if (s.synchronous) cover_legacy(s, call);
        model_.copy(call, stream(s), whole(s.memory), whole(s.source), form);
        break;
      case Kind::Fill:
        model_.fill(call, stream(s), whole(s.memory), form);
        break;
      case Kind::Host:
        model_.host_access(call, {base_[s.memory], base_[s.memory] + kBytes},
                           s.writes ? ordering::AccessMode::Write : ordering::AccessMode::Read);
        break;
      case Kind::Free:
        if (kVariables[s.memory].kind == MemoryKind::Pageable) {
          model_.host_free(call, {base_[s.memory], base_[s.memory] + kBytes});
        } else {
          model_.free(call, ContextId{device_}, base_[s.memory]);
        }
        ended_.push_back(s.memory);
        break;
      case Kind::FreeAsync:
        model_.free_async(call, stream(s), base_[s.memory]);
        if (s.known) ended_.push_back(s.memory);
        break;
      case Kind::SetDevice:
        device_ = s.device;
        break;
    }
    model_.returned(kThread, true);
    note(line, s.kind);
    for (const unsigned variable : ended_) allocate(variable, stream(s), line + 1);
    ended_.clear();
  }

  StreamId stream(const Statement& s) {
    if (s.stream == 0) return model_.legacy_stream(ContextId{device_});
    if (s.stream == 1) return model_.per_thread_stream(ContextId{device_}, kThread);
    return streams_[s.stream - 2];
  }

  /// An operation that waits for the legacy stream.
  void cover_legacy(const Statement& s, Call call) {
    const bool blocking = s.stream == 1 || (s.stream > 1 && s.stream % 2 == 0);
    if (blocking && differs(Difference::BlockingSyncCoversLegacy)) model_.stream_action(call, stream(s));
  }

  [[nodiscard]] Footprint whole(unsigned variable) const { return {base_.at(variable), kBytes, kBytes, 1}; }

  void allocate(unsigned variable, StreamId stream, int line) {
    const Address base = next_;
    next_ += 0x1000;
    base_[variable] = base;
    const MemoryKind kind = kVariables[variable].kind;
    const Call call{kThread, ordering::SiteId{static_cast<std::uint32_t>(line)}};
    if (kind == MemoryKind::DeviceAsync) {
      allocations_[line] = stream == model_.legacy_stream(ContextId{device_});
      names_[model_.allocate_async(call, stream, {base, base + kBytes})] = variable;
    } else if (kind != MemoryKind::Pageable) {
      names_[model_.allocate(call, {base, base + kBytes}, kind, ContextId{device_})] = variable;
    }
    note(line, std::nullopt);
  }

  /// The pair is one that the engine does not look for.
  [[nodiscard]] bool left_out(const JudgedPair& pair, std::optional<Kind> later) const {
    const bool frees = later == Kind::Free || later == Kind::FreeAsync;
    if (frees && pair.kind == ordering::HazardKind::UseAfterFree) return differs(Difference::SecondFree);
    const auto allocation = allocations_.find(pair.earlier);
    if (allocation == allocations_.end()) return false;
    return (allocation->second && differs(Difference::LegacyAllocation)) ||
           (later == Kind::Free && differs(Difference::FreeBeforeAllocation));
  }

  /// The operations and pairs that are new are those of the line.
  void note(int line, std::optional<Kind> statement) {
    for (auto op = line_of_.size(); op < static_cast<std::size_t>(model_.last_operation()); ++op)
      line_of_.push_back(line);
    const auto at = [this](OpId op) { return line_of_[static_cast<std::size_t>(op) - 1]; };
    for (; seen_ < model_.pairs().size(); ++seen_) {
      const ReferenceModel::Pair& pair = model_.pairs()[seen_];
      const auto name = names_.find(pair.allocation);
      // What a copy has borrowed has no allocation.
      const char* variable = name == names_.end() ? "p0" : kVariables[name->second].name;
      const JudgedPair judged{.earlier = at(pair.earlier),
                              .later = at(pair.later),
                              .variable = variable,
                              .kind = pair.kind,
                              .order = pair.order,
                              .certain = pair.certainty == ordering::Certainty::Certain};
      if (!left_out(judged, statement)) judged_.pairs.push_back(judged);
    }
  }

  Differences differences_;
  ReferenceModel model_{ordering::Options{}};
  std::vector<StreamId> streams_;
  std::vector<EventId> events_;
  bool devices_;
  bool known_ = true;
  unsigned device_ = 0;
  Address next_ = 0x10000;
  std::map<unsigned, Address> base_;
  std::map<ordering::AllocationId, unsigned> names_;
  std::vector<unsigned> ended_;
  std::map<int, bool> allocations_;  ///< stream-ordered, by line: in the legacy stream?
  std::vector<int> line_of_;
  std::size_t seen_ = 0;
  Judged judged_;
};

}  // namespace

Judged RandomScript::judge(const std::vector<unsigned>& path, bool queries_succeed, Differences differences) const {
  Player player(mixture_.devices, allocations_, differences);
  for (const unsigned segment : path)
    for (std::size_t i = 0; i < segments_[segment].size(); ++i)
      player.play(segments_[segment][i], lines_[segment][i], queries_succeed);
  return player.take();
}

}  // namespace streamsan::analyzer::testing

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/simulate.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace streamsan::lab {
namespace {

/// When a kernel begins, is past its wait and ends; true: not before the held operation has ended.
struct Kernel {
  bool begin = false;
  bool end = false;
  bool lets_go = false;  ///< it lets a dependent launch begin
};

struct Stream {
  bool late = false;
  bool work_late = false;       ///< likewise, records aside: a synchronisation with the stream waits for this
  std::optional<Kernel> front;  ///< the operation in front is this kernel, events without timing aside
};

class Run {
 public:
  explicit Run(const Program& program) : program_(program), held_(held_of(program)) {
    seen_.steps.resize(program.steps.size());
    seen_.valid = seen_.started = held_.has_value();
  }

  Observation all() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      if (!step(i, program_.steps[i])) break;
      note_work(program_.steps[i]);
      seen_.steps[i].returned = true;
    }
    return std::move(seen_);
  }

 private:
  using Key = std::pair<StreamType, unsigned>;

  Key key(const Step& step) const {
    const bool own = step.stream.type == StreamType::PerThread;
    return {step.stream.type, step.stream.device * kStreams + (own ? step.thread : step.stream.index)};
  }
  static bool blocks(StreamType type) { return type == StreamType::Blocking || type == StreamType::PerThread; }
  static unsigned device_of(const Key& key) { return key.second / kStreams; }
  Stream& legacy(unsigned device) { return streams_[{StreamType::Legacy, device * kStreams}]; }

  /// Is anything in the blocking streams of the device late?
  bool any_late(unsigned device, bool legacy_too = true) {
    bool late = (legacy_too && legacy(device).late) || gone_late_[device];
    for (const auto& [key, stream] : streams_) late |= blocks(key.first) && device_of(key) == device && stream.late;
    return late;
  }

  /// An operation comes behind what the legacy stream makes it wait for.
  Stream& act(const Step& step) {
    const Key where = key(step);
    Stream& stream = streams_[where];
    const unsigned device = device_of(where);
    const bool others =
        where.first == StreamType::Legacy ? any_late(device, false) : blocks(where.first) && legacy(device).late;
    if (others) stream.front.reset();
    stream.late |= others;
    return stream;
  }

  void mark(std::size_t cell, bool late) { seen_.cells[cell].begun += !late; }

  Kernel kernel(const Work& work, std::size_t cell, const std::optional<Kernel>& front, bool late) {
    const bool overlaps = work.dependent && front;
    Kernel kernel;
    kernel.begin = !overlaps ? late : front->lets_go ? front->begin : front->end;
    const bool waited = overlaps && work.waits ? front->end : kernel.begin;
    kernel.end = waited || (held_ && held_->cell == cell && !holding_);
    kernel.lets_go = work.triggers != Triggers::Never;
    // Where it triggers behind its wait, what is behind it begins no sooner than that.
    mark(cell, kernel.begin);
    seen_.cells[cell].waited += !waited;
    if (work.triggers == Triggers::AfterWait) kernel.begin = waited;
    return kernel;
  }

  /// False: the host does not come back.
  bool step(std::size_t index, const Step& step) {
    const std::size_t cell = cell_of_step(index);
    const bool is_held = step.work.held && held_ && held_->step == index;
    switch (step.work.op) {
      case Op::Kernel: {
        Stream& stream = act(step);
        stream.front = kernel(step.work, cell, stream.front, stream.late);
        holding_ |= is_held;
        stream.late |= stream.front->end;
        return true;
      }
      case Op::Copy:
        return copy(step, cell);
      case Op::Fill: {
        Stream& stream = plain(step);
        mark(cell, stream.late);
        return !(step.synchronous && step.work.pinned && stream.late);
      }
      case Op::Host:
      case Op::Hold:
      case Op::WriteValue: {
        Stream& stream = plain(step);
        mark(cell, stream.late);
        stream.late |= is_held;
        holding_ |= is_held;
        if (step.work.op == Op::WriteValue) written_[step.object] = stream.late;
        return true;
      }
      case Op::AwaitValue: {
        if (!written_.contains(step.object)) return true;
        plain(step).late |= written_[step.object];
        if (step.stream.type == StreamType::Legacy) plain(step);
        return true;
      }
      case Op::Record: {
        const bool timing = step.object % kEvents >= kEvents / 2;
        Stream& stream = act(step);
        if (timing) stream.front.reset();
        recorded_[step.object] = stream.late;
        return true;
      }
      case Op::Wait: {
        if (!recorded_.contains(step.object)) return true;
        Stream& stream = plain(step);
        stream.late |= recorded_[step.object];
        return true;
      }
      case Op::SyncStream:
      case Op::QueryStream: {
        const Key where = key(step);
        const bool late = where.first == StreamType::Legacy ? any_late(device_of(where)) : streams_[where].work_late;
        if (step.work.op == Op::SyncStream) return !late;
        seen_.steps[index].succeeded = !late;
        return true;
      }
      case Op::SyncEvent:
        return !recorded_[step.object];
      case Op::QueryEvent:
        seen_.steps[index].succeeded = !recorded_[step.object];
        return true;
      case Op::SyncDevice:
        return !everything_late(step.object);
      case Op::Launch:
        launch(step);
        return true;
      case Op::DestroyStream:
        destroy(step);
        return true;
      case Op::DestroyEvent:
        recorded_.erase(step.object);
        return true;
      case Op::Free:
      case Op::FreeHost:
      case Op::FreeArray:
        return !everything_late(0);
      case Op::Allocate:
      case Op::AllocateHost:
      case Op::AllocateArray:
      case Op::Empty:
      case Op::If:
      case Op::While:
      case Op::Switch:
        return true;
    }
    return true;
  }

  /// What the stream was given is as late as the stream. A record, or a wait for what is over, is nothing that a
  /// synchronisation would have to wait for.
  void note_work(const Step& step) {
    switch (step.work.op) {
      case Op::Kernel:
      case Op::Copy:
      case Op::Fill:
      case Op::Host:
      case Op::Hold:
      case Op::WriteValue:
      case Op::AwaitValue:
      case Op::Launch:
        streams_[key(step)].work_late = streams_[key(step)].late;
        break;
      case Op::Wait:
        if (recorded_.contains(step.object)) streams_[key(step)].work_late |= recorded_[step.object];
        break;
      default:
        break;
    }
  }

  Stream& plain(const Step& step) {
    Stream& stream = act(step);
    stream.front.reset();
    return stream;
  }

  bool copy(const Step& step, std::size_t cell) {
    Stream& stream = plain(step);
    mark(cell, stream.late);
    const Sides sides = sides_of(step.work.route);
    if (sides.to == Side::Pageable) return !stream.late;
    const bool within = is_on_device(sides.to) && is_on_device(sides.from);
    return !(step.synchronous && !within && stream.late);
  }

  bool everything_late(unsigned device) {
    bool late = any_late(device) || gone_[device];
    for (const auto& [key, stream] : streams_) late |= device_of(key) == device && stream.late;
    return late;
  }

  void destroy(const Step& step) {
    const Key where = key(step);
    if (where.first == StreamType::Legacy || where.first == StreamType::PerThread) return;
    if (blocks(where.first)) gone_late_[device_of(where)] |= streams_[where].late;
    gone_[device_of(where)] |= streams_[where].late;
    streams_.erase(where);
  }

  void launch(const Step& step) {
    if (step.object >= program_.graphs.size()) return;
    Stream& stream = plain(step);
    const bool end = run_nodes(step.object, stream.late || execs_.contains(step.object), false);
    stream.late = end;
    if (end) execs_.insert(step.object);
  }

  /// Is the end of the graph, or of one round of a body, late?
  bool run_nodes(std::size_t graph, bool late, bool body) {
    const std::vector<Node>& nodes = program_.graphs[graph].nodes;
    std::vector<Kernel> done(nodes.size());
    std::vector<bool> all(nodes.size());  ///< the node, or anything that it comes after
    bool end = late;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const Node& node = nodes[n];
      bool behind = late;
      for (const unsigned before : node.after) behind |= all[before];
      const std::size_t cell = cell_of_node(graph, n);
      if (node.work.op == Op::Kernel) {
        std::optional<Kernel> front;
        if (node.work.dependent && node.after.size() == 1 && !late && !body) front = done[node.after[0]];
        done[n] = kernel(node.work, cell, front, behind);
        holding_ |= held_ && held_->cell == cell;
      } else if (is_conditional(node.work.op)) {
        done[n] = {.begin = behind, .end = run_bodies(node, behind), .lets_go = false};
      } else {
        done[n] = {.begin = behind, .end = behind, .lets_go = false};
        mark(cell, behind);
      }
      all[n] = behind || done[n].end;
      end |= all[n];
    }
    return end;
  }

  bool run_bodies(const Node& node, bool late) {
    for (std::size_t body = 0; body < node.condition.bodies.size(); ++body) {
      for (unsigned round = rounds_of(node, body); round > 0; --round)
        late = run_nodes(node.condition.bodies[body], late, true);
    }
    return late;
  }

  const Program& program_;
  std::optional<Held> held_;
  Observation seen_;
  std::map<Key, Stream> streams_;
  std::map<unsigned, bool> recorded_;
  std::map<unsigned, bool> written_;
  std::set<unsigned> execs_;            ///< graphs whose last launch is late
  std::map<unsigned, bool> gone_late_;  ///< by device: work of destroyed blocking streams
  std::map<unsigned, bool> gone_;       ///< of all destroyed streams
  bool holding_ = false;
};

}  // namespace

Observation Simulation::run(const Program& program) { return Run(program).all(); }

}  // namespace streamsan::lab

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of order as edges, one function for each call. Nothing here is shared with the fast model but the types;
// the copy matrix is written a second time, as sentences. What is done to memory is in reference_memory.cpp.
#include "ordering/tests/reference_model.h"

#include <algorithm>

namespace streamsan::ordering {
namespace {

bool is_blocking(StreamKind kind) { return kind == StreamKind::Blocking || kind == StreamKind::PerThread; }
bool is_host(MemoryKind kind) {
  return kind == MemoryKind::Pinned || kind == MemoryKind::Registered || kind == MemoryKind::Pageable;
}
void append(std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

// ---- nodes and edges -----------------------------------------------------------------------------------------------

ReferenceModel::Node ReferenceModel::new_node() {
  nodes_.emplace_back();
  return nodes_.size() - 1;
}

std::uint32_t ReferenceModel::host_of(ThreadId thread) const {
  return options_.host_threads == Options::HostThreads::Joined ? 0 : static_cast<std::uint32_t>(thread);
}

ReferenceModel::Node ReferenceModel::new_operation(Call call, StreamId id, bool action,
                                                   const std::set<ContextId>& also) {
  ++operations_;
  const Node node = new_node();
  node_of_[OpId{operations_}] = node;
  submitted_[OpId{operations_}] = {call.thread, moment_};
  caller_ = call.thread;
  std::vector<Node>& before = nodes_[node].documented;
  Stream& own = stream(id);
  if (!own.nodes.empty()) before.push_back(own.nodes.back());  // R-CORE-02
  const auto host = last_host_node_.find(host_of(call.thread));
  if (host != last_host_node_.end()) before.push_back(host->second);  // R-CORE-01
  const bool no_barrier = own.kind == StreamKind::Legacy && is_cut({call.site, Effect::Barrier});
  for (const Stream& other : streams_) {
    if (other.context != own.context || no_barrier) continue;
    if (own.kind == StreamKind::Legacy && action && is_blocking(other.kind)) append(before, other.nodes);  // R-STR-10
    if (is_blocking(own.kind) && other.kind == StreamKind::Legacy) append(before, other.actions);
  }
  append(before, waited_for_[own.context]);  // R-EVT-18
  own.nodes.push_back(node);
  if (action && !no_barrier) own.actions.push_back(node);
  if (no_barrier) return node;
  for (const ContextId context : also) {
    if (context == stream(id).context) continue;
    Stream& legacy = stream(legacy_stream(context));
    append(before, legacy.nodes);
    append(before, waited_for_[context]);  // R-EVT-18
    for (const Stream& other : streams_) {
      if (other.context == context && is_blocking(other.kind)) append(before, other.nodes);
    }
    legacy.nodes.push_back(node);
    legacy.actions.push_back(node);
  }
  return node;
}

std::set<ContextId> ReferenceModel::devices_between(StreamId id, Address dst, Address src) {
  if (stream(id).kind != StreamKind::Legacy) return {};
  for (const Address side : {dst, src}) {
    if (side == 0 || (is_host(kind_at(side)) && kind_at(side) != MemoryKind::Managed)) return {};
  }
  std::set<ContextId> devices{stream(id).context};
  for (const Address side : {dst, src}) {
    const Memory* memory = outer_at(side);
    if (!memory->device) return contexts_;
    devices.insert(*memory->device);
  }
  return devices.size() == 1 ? std::set<ContextId>{} : devices;
}

std::vector<bool> ReferenceModel::before(Node node, bool also_assumed) const {
  std::vector<bool> reached(nodes_.size(), false);
  std::vector<Node> open{node};
  const auto visit = [&](Node next) {
    if (reached[next]) return;
    reached[next] = true;
    open.push_back(next);
  };
  while (!open.empty()) {
    const Edges& edges = nodes_[open.back()];
    open.pop_back();
    for (const Node next : edges.documented) visit(next);
    if (!also_assumed) continue;
    for (const Node next : edges.assumed) visit(next);
  }
  return reached;
}

bool ReferenceModel::is_before(OpId earlier, OpId later, bool also_assumed) const {
  return before(node_of_.at(later), also_assumed)[node_of_.at(earlier)];
}

bool ReferenceModel::is_known(OpId earlier, ThreadId thread, bool also_assumed) const {
  const auto host = last_host_node_.find(host_of(thread));
  return host != last_host_node_.end() && before(host->second, also_assumed)[node_of_.at(earlier)];
}

std::vector<bool> ReferenceModel::signalled() const {
  std::vector<bool> all(nodes_.size(), false);
  for (const Node function : host_functions_) {
    const std::vector<bool> behind = before(function, true);
    for (Node each = 0; each < all.size(); ++each) all[each] = all[each] || behind[each];
  }
  // Where order is seen, joined threads would have submitted it after what any of them knew.
  for (Node each = 0; each < known_when_signalled_.size(); ++each) all[each] = all[each] || known_when_signalled_[each];
  return all;
}

void ReferenceModel::host_learns(ThreadId thread, const Edges& edges) {
  const Node node = new_node();
  nodes_[node] = edges;
  const auto last = last_host_node_.find(host_of(thread));
  if (last != last_host_node_.end()) nodes_[node].documented.push_back(last->second);
  last_host_node_[host_of(thread)] = node;
  host_points_.push_back({thread, moment_, node, before(node, false), before(node, true)});
}

void ReferenceModel::thread_after(ThreadId later, ThreadId earlier, std::uint64_t moment) {
  if (!sees_threads() || later == earlier) return;
  std::uint64_t& seen = seen_[{later, earlier}];
  seen = std::max(seen, moment);
  host_learns_of(later, [&](const HostPoint& point) { return point.thread == earlier && point.moment <= moment; });
}

void ReferenceModel::thread_after_all(ThreadId later) {
  if (!sees_threads()) return;
  host_learns_of(later, [](const HostPoint&) { return true; });
}

void ReferenceModel::host_learns_of(ThreadId later, const std::function<bool(const HostPoint&)>& counts) {
  Edges edges;
  for (const HostPoint& point : host_points_) {
    if (counts(point)) edges.documented.push_back(point.node);
  }
  host_learns(later, edges);
}

bool ReferenceModel::sees_threads() const {
  return options_.host_threads == Options::HostThreads::Seen || options_.host_threads == Options::HostThreads::Strict;
}

std::vector<bool> ReferenceModel::known_to_anybody(bool also_assumed) const {
  std::vector<bool> known(nodes_.size(), false);
  for (const HostPoint& point : host_points_) {
    const std::vector<bool>& knows = also_assumed ? point.assumes : point.knows;
    for (Node each = 0; each < knows.size(); ++each) known[each] = known[each] || knows[each];
  }
  return known;
}

void ReferenceModel::note_signals() {
  if (sees_threads()) known_when_signalled_ = known_to_anybody(true);
}

bool ReferenceModel::was_handed_over_too_early(Node node, OpId earlier, const Access& later) const {
  const auto [who, when] = submitted_.at(earlier);
  bool submitter = false;
  for (const HostPoint& point : host_points_)
    submitter = submitter || (point.thread == who && node < point.assumes.size() && point.assumes[node]);
  const auto seen = seen_.find({caller_, who});
  const bool handed_over = seen != seen_.end() && seen->second >= when;
  return who != caller_ && later.source != AccessSource::Host && submitter && handed_over && !hiding_.contains(who) &&
         !hiding_.contains(caller_);
}

ReferenceModel::PassedOn ReferenceModel::passed_on(Node node, OpId earlier, const Access& later, bool assumed) const {
  if (!sees_threads()) return PassedOn::No;
  if (options_.host_threads == Options::HostThreads::Strict && known_to_anybody(true)[node] &&
      was_handed_over_too_early(node, earlier, later))
    return PassedOn::No;
  if (known_to_anybody(false)[node]) return PassedOn::Perhaps;
  return known_to_anybody(true)[node] && !assumed ? PassedOn::ByAssumption : PassedOn::No;
}

// ---- streams and events --------------------------------------------------------------------------------------------

StreamId ReferenceModel::create_stream(ContextId context, StreamKind kind) {
  contexts_.insert(context);
  streams_.push_back({context, kind, {}, {}});
  return StreamId{static_cast<std::uint32_t>(streams_.size())};
}

StreamId ReferenceModel::legacy_stream(ContextId context) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].kind == StreamKind::Legacy && streams_[i].context == context) {
      return StreamId{static_cast<std::uint32_t>(i + 1)};
    }
  }
  return create_stream(context, StreamKind::Legacy);
}

StreamId ReferenceModel::per_thread_stream(ContextId context, ThreadId thread) {
  static_assert(sizeof(ThreadId) == sizeof(std::uint32_t));
  const std::uint64_t key = (static_cast<std::uint64_t>(context) << 32) | static_cast<std::uint64_t>(thread);
  const auto [known, fresh] = per_thread_.try_emplace(key);
  if (fresh) known->second = create_stream(context, StreamKind::PerThread);
  return known->second;
}

OpId ReferenceModel::record_event(Call call, StreamId id, EventId event) {
  const Node front = stream(id).right_behind;
  const bool behind_kernel = is_right_behind_kernel(id);
  const Node record = new_operation(call, id, true);
  records_[event] = record;
  // R-LCH-02g
  if (behind_kernel && without_timing_.contains(event) && !joins_more_than_front(record, front, call.thread)) {
    stream(id).right_behind = record;
    const auto host = last_host_node_.find(host_of(call.thread));
    if (host != last_host_node_.end()) stream(id).recorders.push_back(host->second);
  }
  return OpId{operations_};
}

OpId ReferenceModel::record_by_launch(Call call, StreamId id, EventId event, bool ends_first) {
  const Kernel& kernel = stream(id).last_kernel;
  if (kernel.node == Kernel::kNone || stream(id).nodes.back() != kernel.node || plain_launches)
    return record_event(call, id, event);
  ++operations_;
  const Node node = new_node();
  nodes_[node] = nodes_[kernel.node];
  std::erase(nodes_[node].documented, kernel.done);
  if (ends_first) nodes_[node].assumed.push_back(kernel.node);
  records_[event] = node;
  return OpId{operations_};
}

OpId ReferenceModel::wait_event(Call call, StreamId id, EventId event) {
  const auto record = records_.find(event);
  if (record == records_.end()) return OpId{++operations_};  // R-EVT-04
  const Node node = new_operation(call, id, true);
  nodes_[node].documented.push_back(record->second);
  return OpId{operations_};
}

// ---- what the host waits for ---------------------------------------------------------------------------------------

std::vector<ReferenceModel::Node> ReferenceModel::covered_by_stream(StreamId id) {
  std::vector<Node> covered = stream(id).nodes;
  append(covered, waited_for_[stream(id).context]);
  if (stream(id).kind != StreamKind::Legacy) return covered;
  for (const Stream& other : streams_) {
    if (other.context == stream(id).context && is_blocking(other.kind)) append(covered, other.nodes);  // R-STR-16
  }
  return covered;
}

std::vector<ReferenceModel::Node> ReferenceModel::covered_by_context(ContextId context) const {
  std::vector<Node> covered;
  if (const auto waited = waited_for_.find(context); waited != waited_for_.end()) append(covered, waited->second);
  for (const Stream& each : streams_) {
    if (each.context == context) append(covered, each.nodes);
  }
  return covered;
}

void ReferenceModel::sync_stream(Call call, StreamId id) {
  pending_[call.thread] = {.site = call.site, .learns = Edges{covered_by_stream(id), {}}};
}

void ReferenceModel::sync_event(Call call, EventId event) {
  const auto record = records_.find(event);
  pending_[call.thread] = {.site = call.site};
  if (record != records_.end()) pending_[call.thread].learns = Edges{{record->second}, {}};
}

void ReferenceModel::sync_context(Call call, ContextId context) {
  contexts_.insert(context);
  pending_[call.thread] = {.site = call.site, .learns = Edges{covered_by_context(context), {}}};
}

void ReferenceModel::query_stream_succeeded(Call call, StreamId id) {
  host_learns(call.thread, {covered_by_stream(id), {}});
}

void ReferenceModel::query_event_succeeded(Call call, EventId event) {
  const auto record = records_.find(event);
  if (record != records_.end()) host_learns(call.thread, {{record->second}, {}});
}

void ReferenceModel::returned(ThreadId thread, bool ok) {
  const auto pending = pending_.find(thread);
  if (pending == pending_.end()) return;
  const Returning returning = pending->second;
  pending_.erase(pending);
  if (!ok) return;
  if (returning.learns && !is_cut({returning.site, Effect::Wait})) host_learns(thread, *returning.learns);
  if (returning.freed && held(returning.freed->range).empty()) {
    std::erase_if(freed_, [&](const Freed& life) { return life.range.overlaps(returning.freed->range); });
    freed_.push_back(*returning.freed);
  }
  if (returning.second_free) free_again(returning.second_free->first, returning.second_free->second);
}

void ReferenceModel::set_copy_effect(Call call, Node copy, const std::vector<Node>& prior, CopyEffect documented,
                                     CopyEffect assumed) {
  Edges edges;
  if (documented.prior) append(edges.documented, prior);
  if (documented.complete) edges.documented.push_back(copy);
  if (assumed.prior) append(edges.assumed, prior);
  if (assumed.complete) edges.assumed.push_back(copy);
  pending_[call.thread] = {.site = call.site, .learns = edges};
}

// ---- order that the program makes by other means -------------------------------------------------------------------

void ReferenceModel::signal(Call call, std::optional<StreamId> id, std::uint64_t object) {
  const auto host = last_host_node_.find(host_of(call.thread));
  if (id) {
    objects_[object].push_back(new_operation(call, *id, false));
  } else if (host != last_host_node_.end()) {
    objects_[object].push_back(host->second);
  }
}

void ReferenceModel::await(Call call, std::optional<StreamId> id, std::uint64_t object) {
  if (id) {
    const Node node = new_operation(call, *id, false);
    append(nodes_[node].documented, objects_[object]);
  } else {
    host_learns(call.thread, {objects_[object], {}});
  }
}

// ---- operations ----------------------------------------------------------------------------------------------------

bool ReferenceModel::is_right_behind_kernel(StreamId id) {
  const Stream& in = stream(id);
  return in.right_behind != Kernel::kNone && in.nodes.back() == in.right_behind;
}

bool ReferenceModel::joins_more(Node node, Node front, std::optional<ThreadId> thread) const {
  for (const bool also_assumed : {false, true}) {
    const std::vector<bool> now = before(node, also_assumed);
    std::vector<bool> known = before(front, also_assumed);
    known[front] = true;
    const auto learn = [&known](const std::vector<bool>& more) {
      for (Node each = 0; each < more.size(); ++each) known[each] = known[each] || more[each];
    };
    if (!thread) learn(known_to_anybody(also_assumed));
    const auto host = thread ? last_host_node_.find(host_of(*thread)) : last_host_node_.end();
    if (host != last_host_node_.end()) {
      learn(before(host->second, also_assumed));
      known[host->second] = true;
    }
    const auto is_more = [&](Node each) { return now[each] && !known[each] && each != node; };
    for (const auto& [op, each] : node_of_) {
      if (is_more(each)) return true;
    }
    if (std::any_of(inside_graphs_.begin(), inside_graphs_.end(), is_more)) return true;
  }
  return false;
}

bool ReferenceModel::joins_more_than_front(Node node, Node front, ThreadId thread) {
  if (!joins_more(node, front, thread)) return false;
  if (sees_threads() && !joins_more(node, front, std::nullopt)) overlaps_more_if_joined = true;
  return true;
}

ReferenceModel::Kernel ReferenceModel::new_kernel(Call call, StreamId id, const Dependence& dependence) {
  const Kernel front = stream(id).last_kernel;
  const Node behind = stream(id).right_behind;
  const bool behind_kernel = is_right_behind_kernel(id);
  Kernel kernel{.node = new_operation(call, id, true)};
  kernel.start = new_node();
  kernel.done = new_node();
  kernel.waits = dependence.waits;
  nodes_[kernel.start] = nodes_[kernel.node];
  kernel.waited = kernel.start;
  nodes_[kernel.node].documented.push_back(kernel.done);
  if (dependence.overlaps && behind_kernel && !plain_launches &&
      !joins_more_than_front(kernel.node, behind, call.thread)) {
    const auto host = last_host_node_.find(host_of(call.thread));
    Edges& begins = nodes_[kernel.start];
    begins = {};
    if (host != last_host_node_.end()) begins.documented.push_back(host->second);
    append(begins.documented, stream(id).recorders);
    const bool has_waited = front.waits && (dependence.front != Trigger::Early || dependence.front_waits_first);
    const Node from = has_waited ? front.waited : front.start;
    begins.documented.push_back(from);
    doubts_[kernel.start] = doubts_[from];
    if (dependence.front == Trigger::Published) begins.documented.push_back(front.done);
    if (dependence.front == Trigger::Last || dependence.front == Trigger::Never) begins.assumed.push_back(front.done);
    if (dependence.front == Trigger::Unknown) doubts_[kernel.start].insert(front.done);
    if (dependence.waits) {
      kernel.waited = after(kernel.start, {front.end});
      doubts_[kernel.waited] = doubts_[front.waits ? front.waited : front.start];
    }
  }
  kernel.end = after(kernel.waited, {kernel.done});
  stream(id).last_kernel = kernel;
  stream(id).right_behind = kernel.node;
  stream(id).recorders.clear();
  return kernel;
}

OpId ReferenceModel::copy(Call call, StreamId id, const Footprint& dst, const Footprint& src, Form form) {
  pending_.erase(call.thread);
  if (dst.width * dst.rows * dst.slices == 0) return kNoOp;  // R-CPY-23
  const std::vector<Node> prior = covered_by_stream(id);
  const Node node = new_operation(call, id, true, devices_between(id, dst.base, src.base));
  const MemoryKind to = kind_at(dst.base);
  const MemoryKind from = kind_at(src.base);
  if (form == Form::Asynchronous || from != MemoryKind::Pageable) {  // R-CPY-01
    touch(node, node, src,
          {.op = OpId{operations_}, .stream = id, .mode = AccessMode::Read, .source = AccessSource::Copy});
  }
  touch(node, node, dst,
        {.op = OpId{operations_}, .stream = id, .mode = AccessMode::Write, .source = AccessSource::Copy});
  if (form == Form::Asynchronous && !(is_host(to) && is_host(from))) {
    if (from == MemoryKind::Pageable) loans_.push_back({node, OpId{operations_}, src});
    if (to == MemoryKind::Pageable) loans_.push_back({node, OpId{operations_}, dst});
  }

  CopyEffect documented;
  CopyEffect assumed;
  const bool managed = to == MemoryKind::Managed || from == MemoryKind::Managed;
  if (form == Form::Synchronous) {
    if (syncs(dst.base) || syncs(src.base)) {
      documented.complete = true;  // R-CPY-08
    } else if (managed) {
      assumed.complete = true;  // R-CPY-06
    } else if (is_host(to)) {
      documented.complete = true;  // R-CPY-03, R-CPY-05
    } else if (from == MemoryKind::Pageable) {
      documented.prior = true;  // R-CPY-01
    } else if (is_host(from)) {
      documented.complete = true;  // R-CPY-02
    }
  } else if (is_host(to) && is_host(from)) {
    documented.complete = true;  // R-CPY-17
  } else if (to == MemoryKind::Pageable) {
    assumed.complete = true;  // R-CPY-14
  }
  set_copy_effect(call, node, prior, documented, assumed);
  return OpId{operations_};
}

OpId ReferenceModel::fill(Call call, StreamId id, const Footprint& dst, Form form) {
  pending_.erase(call.thread);
  if (dst.width * dst.rows * dst.slices == 0) return kNoOp;  // R-CPY-23
  const Node node = new_operation(call, id, true);
  touch(node, node, dst,
        {.op = OpId{operations_}, .stream = id, .mode = AccessMode::Write, .source = AccessSource::Fill});
  if (form == Form::Asynchronous) return OpId{operations_};  // R-CPY-51
  const MemoryKind kind = kind_at(dst.base);
  CopyEffect documented;
  CopyEffect assumed;
  documented.complete =
      kind == MemoryKind::Pinned || kind == MemoryKind::Registered || syncs(dst.base);  // R-CPY-50, R-CPY-08
  assumed.complete = kind == MemoryKind::Managed;                                       // R-CPY-06
  set_copy_effect(call, node, {}, documented, assumed);
  return OpId{operations_};
}

OpId ReferenceModel::stream_action(Call call, StreamId id) {
  new_operation(call, id, true);
  return OpId{operations_};
}

OpId ReferenceModel::host_function(Call call, StreamId id) {
  host_functions_.push_back(new_operation(call, id, true));
  note_signals();
  return OpId{operations_};
}

OpId ReferenceModel::stream_joins_all(Call call, StreamId id) {
  const Node node = new_operation(call, id, true);
  for (Node each = 0; each < node; ++each) nodes_[node].documented.push_back(each);
  return OpId{operations_};
}

OpId ReferenceModel::graph_launch(Call call, StreamId id, std::uint64_t exec) {
  const Node node = new_operation(call, id, true);
  const auto earlier = last_graph_launch_.find(exec);
  if (earlier != last_graph_launch_.end()) nodes_[node].documented.push_back(earlier->second);  // R-GRF-35
  last_graph_launch_[exec] = node;
  return OpId{operations_};
}

}  // namespace streamsan::ordering

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules as edges, one function for each call. Nothing here is shared with the fast model but the types and
// certainty(); the copy matrix is written a second time, as sentences.
#include "ordering/tests/reference_model.h"

#include <algorithm>
#include <iterator>

namespace streamsan::ordering {
namespace {

bool is_blocking(StreamKind kind) { return kind == StreamKind::Blocking || kind == StreamKind::PerThread; }
bool is_write(const Access& access) { return access.mode != AccessMode::Read; }
bool both(const Access& a, const Access& b, AccessMode mode) { return a.mode == mode && b.mode == mode; }
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

ReferenceModel::Node ReferenceModel::new_operation(Call call, StreamId id, bool action) {
  ++operations_;
  const Node node = new_node();
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
  own.nodes.push_back(node);
  if (action && !no_barrier) own.actions.push_back(node);
  return node;
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

std::vector<bool> ReferenceModel::told() const {
  std::vector<bool> all(nodes_.size(), false);
  for (const Node function : host_functions_) {
    const std::vector<bool> behind = before(function, true);
    for (Node each = 0; each < all.size(); ++each) all[each] = all[each] || behind[each];
  }
  return all;
}

void ReferenceModel::host_learns(ThreadId thread, const Edges& edges) {
  const Node node = new_node();
  nodes_[node] = edges;
  const auto last = last_host_node_.find(host_of(thread));
  if (last != last_host_node_.end()) nodes_[node].documented.push_back(last->second);
  last_host_node_[host_of(thread)] = node;
}

// ---- streams and events --------------------------------------------------------------------------------------------

StreamId ReferenceModel::create_stream(ContextId context, StreamKind kind) {
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
  records_[event] = new_operation(call, id, true);
  return OpId{operations_};
}

OpId ReferenceModel::wait_event(Call call, StreamId id, EventId event) {
  const auto record = records_.find(event);
  const bool recorded = record != records_.end();
  const Node node = new_operation(call, id, recorded);  // R-EVT-04
  if (recorded) nodes_[node].documented.push_back(record->second);
  return OpId{operations_};
}

// ---- what the host waits for ---------------------------------------------------------------------------------------

std::vector<ReferenceModel::Node> ReferenceModel::covered_by_stream(StreamId id) {
  std::vector<Node> covered = stream(id).nodes;
  if (stream(id).kind != StreamKind::Legacy) return covered;
  for (const Stream& other : streams_) {
    if (other.context == stream(id).context && is_blocking(other.kind)) append(covered, other.nodes);  // R-STR-16
  }
  return covered;
}

std::vector<ReferenceModel::Node> ReferenceModel::covered_by_context(ContextId context) const {
  std::vector<Node> covered;
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

// ---- memory --------------------------------------------------------------------------------------------------------

ReferenceModel::Memory* ReferenceModel::outer_at(Address address) {
  for (Memory& memory : memories_) {
    if (!memory.block && memory.range.contains(address)) return &memory;
  }
  return nullptr;
}

ReferenceModel::Memory* ReferenceModel::block_at(Address address) {
  for (Memory& memory : memories_) {
    if (memory.block && memory.range.contains(address)) return &memory;
  }
  return nullptr;
}

ReferenceModel::Memory* ReferenceModel::memory_at(Address address) {
  Memory* block = block_at(address);
  return block ? block : outer_at(address);
}

MemoryKind ReferenceModel::kind_at(Address address) {
  if (address == 0) return MemoryKind::Device;  // an array
  const Memory* memory = outer_at(address);
  return memory ? memory->kind : MemoryKind::Pageable;
}

std::vector<std::pair<ReferenceModel::Memory*, Range>> ReferenceModel::held(Range range) {
  std::set<Address> cuts{range.begin, range.end};
  for (const Memory& memory : memories_) {
    if (range.contains(memory.range.begin)) cuts.insert(memory.range.begin);
    if (range.contains(memory.range.end)) cuts.insert(memory.range.end);
  }
  std::vector<std::pair<Memory*, Range>> parts;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    if (Memory* memory = memory_at(*cut)) parts.push_back({memory, {*cut, *std::next(cut)}});
  }
  return parts;
}

/// The memory goes away, or something else takes its place.
void ReferenceModel::end(Range range) {
  std::erase_if(memories_, [range](const Memory& memory) { return memory.range.overlaps(range); });
  std::erase_if(retired_, [range](const Memory& memory) { return memory.range.overlaps(range); });
}

void ReferenceModel::compare(const Memory& memory, AllocationId name, Range whole, Node node, const Access& later,
                             std::optional<HazardKind> given) {
  const std::vector<bool> documented = before(node, false);
  const std::vector<bool> assumed = before(node, true);
  const std::vector<bool> perhaps_known = told();
  for (const PastAccess& past : memory.past) {
    const Access& earlier = past.access;
    if (past.node == node || documented[past.node]) continue;
    if (both(earlier, later, AccessMode::Read) || both(earlier, later, AccessMode::Atomic)) continue;
    const std::optional<Certainty> certain = certainty(earlier, later, whole);
    if (!certain) continue;
    HazardKind kind = HazardKind::WriteAfterWrite;
    if (!is_write(earlier)) kind = HazardKind::WriteAfterRead;
    if (!is_write(later)) kind = HazardKind::ReadAfterWrite;
    if (earlier.source == AccessSource::Allocate) kind = HazardKind::UseBeforeAllocate;
    if (later.source == AccessSource::Free) kind = HazardKind::FreeWhileInUse;
    if (given) kind = *given;
    const bool perhaps_told = *certain == Certainty::Certain && perhaps_known[past.node];  // R-HST-06
    // R-CPY-13, R-CPY-14
    const bool staged = memory.kind == MemoryKind::Pageable && earlier.source == AccessSource::Copy;
    pairs_.push_back({earlier.op, later.op, name, kind, assumed[past.node] || staged ? Order::Latent : Order::Unordered,
                      perhaps_told ? Certainty::Possible : *certain, perhaps_told,
                      memory.all_exact && memory.kind != MemoryKind::Pageable});
  }
}

ReferenceModel::Node ReferenceModel::after(Node node, const std::vector<Node>& others) {
  const Node later = new_node();
  nodes_[later].documented = others;
  nodes_[later].documented.push_back(node);
  return later;
}

void ReferenceModel::access(Memory& memory, Node node, const Access& later) {
  memory.all_exact = memory.all_exact && later.exact;
  compare(memory, memory.id, memory.range, node, later, std::nullopt);
  memory.past.push_back({node, later});
}

AllocationId ReferenceModel::allocate(Call, Range range, MemoryKind kind) {
  end(range);
  std::erase_if(freed_, [range](const Freed& life) { return life.range.overlaps(range); });
  memories_.push_back({.id = AllocationId{++allocations_made_}, .range = range, .kind = kind});
  return memories_.back().id;
}

AllocationId ReferenceModel::allocate_async(Call call, StreamId id, Range range) {
  const Node node = new_operation(call, id, false);  // R-STR-17
  const AllocationId made = allocate(call, range, MemoryKind::DeviceAsync);
  access(memories_.back(), node,
         {.op = OpId{operations_},
          .stream = id,
          .mode = AccessMode::Write,
          .source = AccessSource::Allocate,
          .range = range});
  return made;
}

ReferenceModel::Node ReferenceModel::host_node(ThreadId thread) {
  const Node node = new_node();
  const auto host = last_host_node_.find(host_of(thread));
  if (host != last_host_node_.end()) nodes_[node].documented.push_back(host->second);
  return node;
}

void ReferenceModel::check_end(const Memory& memory, Node node, OpId op) {
  const auto free_of = [&](Range range) {
    return Access{.op = op, .mode = AccessMode::Write, .source = AccessSource::Free, .range = range};
  };
  const Range whole = memory.range;
  compare(memory, memory.id, whole, node, free_of(whole), std::nullopt);
  for (const Memory& block : memories_) {
    if (!block.block || !block.range.overlaps(whole)) continue;
    compare(block, block.id, block.range, node, free_of(block.range), std::nullopt);
  }
  for (const Memory& life : retired_) {
    if (life.range.overlaps(whole))
      compare(life, memory.id, whole, after(node, life.waited), free_of(whole), std::nullopt);
  }
}

void ReferenceModel::free(Call call, ContextId context, Address base) {
  pending_.erase(call.thread);
  const Memory* memory = outer_at(base);
  if (!memory) {
    for (const Freed& life : freed_) {
      if (life.range.begin == base) pending_[call.thread].second_free = {OpId{++operations_}, base};
    }
    return;
  }
  if (memory->range.begin != base) return;
  ++operations_;
  const Node node = host_node(call.thread);
  if (memory->kind != MemoryKind::DeviceAsync) {  // R-ALC-02, R-ALC-03, R-ALC-05
    nodes_[node].assumed = covered_by_context(context);
    pending_[call.thread] = {.site = call.site, .learns = Edges{{}, covered_by_context(context)}};
  }
  check_end(*memory, node, OpId{operations_});
  if (memory->kind == MemoryKind::DeviceAsync || memory->kind == MemoryKind::Device) {
    pending_[call.thread].freed = Freed{memory->id, memory->range, memory->kind, OpId{operations_}};
  }
  end(memory->range);
}

void ReferenceModel::unmap(Call call, ContextId, Range range) {
  pending_.erase(call.thread);
  ++operations_;
  const Node node = host_node(call.thread);
  std::vector<Range> gone;
  for (const Memory& memory : memories_) {
    if (memory.block || !range.contains(memory.range)) continue;
    check_end(memory, node, OpId{operations_});
    gone.push_back(memory.range);
  }
  for (const Range each : gone) end(each);
}

OpId ReferenceModel::free_async(Call call, StreamId id, Address base) {
  const Node node = new_operation(call, id, true);
  const Memory* memory = outer_at(base);
  if (!memory) free_again(OpId{operations_}, base);
  if (!memory || memory->range.begin != base) return OpId{operations_};
  check_end(*memory, node, OpId{operations_});
  const Freed life{memory->id, memory->range, memory->kind, OpId{operations_}};
  end(memory->range);
  if (life.kind == MemoryKind::DeviceAsync || life.kind == MemoryKind::Device) freed_.push_back(life);
  return OpId{operations_};
}

// ---- after the end (R-SOA-04) --------------------------------------------------------------------------------------

void ReferenceModel::use_freed(OpId op, Address address, std::optional<Certainty> ordinary,
                               std::optional<Certainty> stream_ordered) {
  for (const Freed& life : freed_) {
    if (!life.range.contains(address)) continue;
    const std::optional<Certainty> certain = life.kind == MemoryKind::DeviceAsync ? stream_ordered : ordinary;
    if (!certain) continue;
    pairs_.push_back({life.op, op, life.id, HazardKind::UseAfterFree, Order::Unordered, *certain, false, true});
  }
}

void ReferenceModel::free_again(OpId op, Address base) {
  for (const Freed& life : freed_) {
    if (life.range.begin == base) return use_freed(op, base, Certainty::Possible, Certainty::Certain);
  }
}

// ---- the host ------------------------------------------------------------------------------------------------------

void ReferenceModel::host_access(Call call, Range range, AccessMode mode) {
  ++operations_;
  host_learns(call.thread, {});
  const Node node = last_host_node_[host_of(call.thread)];
  std::erase_if(freed_, [range](const Freed& life) { return life.range.overlaps(range); });
  for (const auto& [memory, bytes] : held(range)) {
    if (memory->kind == MemoryKind::Pageable) continue;
    access(*memory, node, {.op = OpId{operations_}, .mode = mode, .source = AccessSource::Host, .range = bytes});
  }
}

void ReferenceModel::host_free(Call call, Range range) {
  const OpId op{++operations_};
  const Node node = host_node(call.thread);
  std::erase_if(freed_, [range](const Freed& life) { return life.range.overlaps(range); });
  std::vector<Range> gone;
  for (const Memory& memory : memories_) {
    if (memory.block || !memory.range.overlaps(range)) continue;
    if (memory.kind != MemoryKind::Registered && memory.kind != MemoryKind::Pinned) continue;
    if (range.contains(memory.range)) {
      check_end(memory, node, op);
      if (memory.kind == MemoryKind::Registered) gone.push_back(memory.range);
    } else {
      compare(memory, memory.id, memory.range, node,
              {.op = op,
               .mode = AccessMode::Write,
               .source = AccessSource::Free,
               .range = intersection(range, memory.range)},
              std::nullopt);
    }
  }
  for (const Range each : gone) end(each);

  const std::vector<bool> documented = before(node, false);
  const std::vector<bool> perhaps_known = told();
  std::erase_if(loans_, [&](const Loan& loan) {
    bool borrowed = false;
    for (std::uint64_t slice = 0; slice < loan.bytes.slices; ++slice) {
      for (std::uint64_t row = 0; row < loan.bytes.rows; ++row) {
        const Address begin = loan.bytes.base + slice * loan.bytes.slice_pitch + row * loan.bytes.pitch;
        borrowed = borrowed || range.overlaps({begin, begin + loan.bytes.width});
      }
    }
    if (borrowed && !documented[loan.node]) {
      const bool perhaps_told = perhaps_known[loan.node];
      pairs_.push_back({loan.op, op, AllocationId{}, HazardKind::FreeWhileInUse, Order::Latent,
                        perhaps_told ? Certainty::Possible : Certainty::Certain, perhaps_told, true});
    }
    return borrowed;
  });
}

// ---- annotations ---------------------------------------------------------------------------------------------------

ReferenceModel::Node ReferenceModel::point(Call call, std::optional<StreamId> id) {
  if (id) return new_operation(call, *id, false);
  ++operations_;
  return host_node(call.thread);
}

AllocationId ReferenceModel::block_allocate(Call call, std::optional<StreamId> id, Range range) {
  std::erase_if(memories_, [range](const Memory& memory) { return memory.block && memory.range.overlaps(range); });
  std::erase_if(freed_, [range](const Freed& life) { return life.range.overlaps(range); });
  const Node node = point(call, id);
  const Access handed_out{
      .op = OpId{operations_}, .mode = AccessMode::Write, .source = AccessSource::Allocate, .range = range};
  for (const Memory& life : retired_) {
    if (!life.range.overlaps(range)) continue;
    compare(life, life.id, life.range, after(node, life.waited), handed_out, HazardKind::ReuseWhileInUse);
  }
  const MemoryKind kind = kind_at(range.begin);
  memories_.push_back({.id = AllocationId{++allocations_made_}, .range = range, .kind = kind, .block = true});
  return memories_.back().id;
}

void ReferenceModel::block_free(Call call, std::optional<StreamId> id, Address base) {
  Memory* block = block_at(base);
  if (!block || block->range.begin != base) return;
  for (const StreamId declared : block->declared) {
    if (!stream(declared).nodes.empty()) block->waited.push_back(stream(declared).nodes.back());
  }
  const Node node = after(point(call, id), block->waited);
  compare(*block, block->id, block->range, node,
          {.op = OpId{operations_}, .mode = AccessMode::Write, .source = AccessSource::Free, .range = block->range},
          HazardKind::ReleaseWhileInUse);
  retired_.push_back(*block);
  std::erase_if(memories_, [id_of_block = block->id](const Memory& memory) { return memory.id == id_of_block; });
}

void ReferenceModel::block_use(Call, StreamId id, Address base) {
  Memory* block = block_at(base);
  if (block && block->range.begin == base) block->declared.insert(id);
}

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

void ReferenceModel::touch(Node node, const Footprint& footprint, Access each) {
  if (footprint.base == 0 || footprint.width * footprint.rows * footprint.slices == 0) return;
  if (!memory_at(footprint.base)) {
    if (each.source == AccessSource::Kernel) {
      const Certainty certain = each.learned || each.widened ? Certainty::Possible : Certainty::Certain;
      use_freed(each.op, footprint.base, certain, certain);
    } else {
      use_freed(each.op, footprint.base, Certainty::Possible, Certainty::Certain);
    }
    return;
  }
  for (std::uint64_t slice = 0; slice < footprint.slices; ++slice) {
    for (std::uint64_t row = 0; row < footprint.rows; ++row) {
      const Address begin = footprint.base + slice * footprint.slice_pitch + row * footprint.pitch;
      for (const auto& [memory, bytes] : held({begin, begin + footprint.width})) {
        each.range = bytes;
        access(*memory, node, each);
      }
    }
  }
}

OpId ReferenceModel::launch(Call call, StreamId id, const LaunchShape& shape, std::span<const PointerArgument> pointers,
                            std::span<const KernelBytes> bytes) {
  const Node node = new_operation(call, id, true);
  for (const PointerArgument& pointer : pointers) {
    Memory* memory = memory_at(pointer.address);
    if (!memory) {
      if (pointer.mode == AccessMode::Doubtful) continue;
      use_freed(OpId{operations_}, pointer.address, Certainty::Possible, Certainty::Possible);
      continue;
    }
    access(*memory, node,
           {.op = OpId{operations_},
            .stream = id,
            .mode = pointer.mode,
            .source = AccessSource::Kernel,
            .exact = false,
            .range = {pointer.address, memory->range.end},
            .function = shape.function,
            .device_threads = shape.threads,
            .arguments_hash = shape.arguments_hash});
  }
  for (const KernelBytes& known : bytes) {
    touch(node, known.bytes,
          {.op = OpId{operations_},
           .stream = id,
           .mode = known.mode,
           .source = AccessSource::Kernel,
           .learned = shape.learned,
           .widened = known.widened,
           .function = shape.function,
           .device_threads = shape.threads,
           .arguments_hash = shape.arguments_hash});
  }
  return OpId{operations_};
}

OpId ReferenceModel::copy(Call call, StreamId id, const Footprint& dst, const Footprint& src, Form form) {
  pending_.erase(call.thread);
  if (dst.width * dst.rows * dst.slices == 0) return kNoOp;  // R-CPY-23
  const std::vector<Node> prior = covered_by_stream(id);
  const Node node = new_operation(call, id, true);
  const MemoryKind to = kind_at(dst.base);
  const MemoryKind from = kind_at(src.base);
  if (form == Form::Asynchronous || from != MemoryKind::Pageable) {  // R-CPY-01
    touch(node, src, {.op = OpId{operations_}, .stream = id, .mode = AccessMode::Read, .source = AccessSource::Copy});
  }
  touch(node, dst, {.op = OpId{operations_}, .stream = id, .mode = AccessMode::Write, .source = AccessSource::Copy});
  if (form == Form::Asynchronous && !(is_host(to) && is_host(from))) {
    if (from == MemoryKind::Pageable) loans_.push_back({node, OpId{operations_}, src});
    if (to == MemoryKind::Pageable) loans_.push_back({node, OpId{operations_}, dst});
  }

  CopyEffect documented;
  CopyEffect assumed;
  const bool managed = to == MemoryKind::Managed || from == MemoryKind::Managed;
  if (form == Form::Synchronous) {
    if (managed) {
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
  touch(node, dst, {.op = OpId{operations_}, .stream = id, .mode = AccessMode::Write, .source = AccessSource::Fill});
  if (form == Form::Asynchronous) return OpId{operations_};  // R-CPY-51
  const MemoryKind kind = kind_at(dst.base);
  CopyEffect documented;
  CopyEffect assumed;
  documented.complete = kind == MemoryKind::Pinned || kind == MemoryKind::Registered;  // R-CPY-50
  assumed.complete = kind == MemoryKind::Managed;                                      // R-CPY-06
  set_copy_effect(call, node, {}, documented, assumed);
  return OpId{operations_};
}

OpId ReferenceModel::stream_action(Call call, StreamId id) {
  new_operation(call, id, true);
  return OpId{operations_};
}

OpId ReferenceModel::host_function(Call call, StreamId id) {
  host_functions_.push_back(new_operation(call, id, true));
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

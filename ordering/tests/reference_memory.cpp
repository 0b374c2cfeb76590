// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference model's memory: lives, their accesses, every one compared with every earlier one, rows one by one.
// Nothing here is shared with the fast model but the types and certainty().
#include "ordering/tests/reference_model.h"

#include <algorithm>
#include <iterator>

namespace streamsan::ordering {
namespace {

bool is_write(const Access& access) { return access.mode != AccessMode::Read; }
bool both(const Access& a, const Access& b, AccessMode mode) { return a.mode == mode && b.mode == mode; }

}  // namespace

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
  const std::vector<bool> by_host_function = signalled();
  for (const PastAccess& past : memory.past) {
    const Access& earlier = past.access;
    if (past.node == node || earlier.op == later.op || documented[past.node]) continue;
    if (both(earlier, later, AccessMode::Read) || both(earlier, later, AccessMode::Atomic)) continue;
    std::optional<Certainty> certain = certainty(earlier, later, whole);
    if (!certain) continue;
    const auto doubts = doubts_.find(node);
    if (doubts != doubts_.end() && doubts->second.contains(past.node)) certain = Certainty::Possible;
    HazardKind kind = HazardKind::WriteAfterWrite;
    if (!is_write(earlier)) kind = HazardKind::WriteAfterRead;
    if (!is_write(later)) kind = HazardKind::ReadAfterWrite;
    if (earlier.source == AccessSource::Allocate) kind = HazardKind::UseBeforeAllocate;
    if (later.source == AccessSource::Free) kind = HazardKind::FreeWhileInUse;
    if (given) kind = *given;
    const bool perhaps_signalled = *certain == Certainty::Certain && by_host_function[past.node];  // R-HST-06
    const auto operation = node_of_.find(earlier.op);
    const bool part_of_it = earlier.node != 0 || operation == node_of_.end();  // of a graph, or by the host
    const Node known = part_of_it ? past.node : operation->second;
    const PassedOn passed_on = this->passed_on(known, earlier.op, later, assumed[past.node]);
    const bool perhaps = passed_on == PassedOn::Perhaps;
    const bool by_threads_alone = perhaps && *certain == Certainty::Certain;
    const bool latent = assumed[past.node] || passed_on == PassedOn::ByAssumption;
    // R-CPY-13, R-CPY-14
    const bool staged = memory.kind == MemoryKind::Pageable && earlier.source == AccessSource::Copy;
    pairs_.push_back({earlier.op, later.op, name, kind, latent || staged ? Order::Latent : Order::Unordered,
                      perhaps_signalled || perhaps ? Certainty::Possible : *certain, perhaps_signalled,
                      by_threads_alone, memory.all_exact && memory.kind != MemoryKind::Pageable});
  }
}

ReferenceModel::Node ReferenceModel::after(Node node, const std::vector<Node>& others) {
  const Node later = new_node();
  nodes_[later].documented = others;
  nodes_[later].documented.push_back(node);
  return later;
}

void ReferenceModel::access(Memory& memory, Node start, Node done, const Access& later) {
  memory.all_exact = memory.all_exact && later.exact;
  compare(memory, memory.id, memory.range, start, later, std::nullopt);
  memory.past.push_back({done, later});
}

AllocationId ReferenceModel::allocate(Call, Range range, MemoryKind kind, std::optional<ContextId> context) {
  end(range);
  std::erase_if(freed_, [range](const Freed& life) { return life.range.overlaps(range); });
  memories_.push_back({.id = AllocationId{++allocations_made_}, .range = range, .kind = kind});
  memories_.back().device = context;
  if (context) contexts_.insert(*context);
  return memories_.back().id;
}

AllocationId ReferenceModel::allocate_async(Call call, StreamId id, Range range, bool on_its_device) {
  const Node node = new_operation(call, id, false);  // R-STR-17
  const std::optional<ContextId> context = stream(id).context;
  const AllocationId made = allocate(call, range, MemoryKind::DeviceAsync, on_its_device ? context : std::nullopt);
  access(memories_.back(), node, node,
         {.op = OpId{operations_},
          .stream = id,
          .mode = AccessMode::Write,
          .source = AccessSource::Allocate,
          .range = range});
  return made;
}

ReferenceModel::Node ReferenceModel::host_node(ThreadId thread) {
  const Node node = new_node();
  caller_ = thread;
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
    const ContextId waited_for = memory->device.value_or(context);
    contexts_.insert(waited_for);
    const std::vector<Node> covered = covered_by_context(waited_for);
    nodes_[node].assumed = covered;
    pending_[call.thread] = {.site = call.site, .learns = Edges{{}, covered}};
  }
  check_end(*memory, node, OpId{operations_});
  if (is_on_device(memory->kind)) {
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
  end_life(node, OpId{operations_}, base);
  return OpId{operations_};
}

void ReferenceModel::end_life(Node node, OpId op, Address base) {
  const Memory* memory = outer_at(base);
  if (!memory) free_again(op, base);
  if (!memory || memory->range.begin != base) return;
  check_end(*memory, node, op);
  const Freed life{memory->id, memory->range, memory->kind, op};
  end(memory->range);
  if (is_on_device(life.kind)) freed_.push_back(life);
}

// ---- after the end (R-SOA-04) --------------------------------------------------------------------------------------

void ReferenceModel::use_freed(OpId op, Address address, std::optional<Certainty> ordinary,
                               std::optional<Certainty> stream_ordered) {
  for (const Freed& life : freed_) {
    if (!life.range.contains(address)) continue;
    const std::optional<Certainty> certain = life.kind == MemoryKind::DeviceAsync ? stream_ordered : ordinary;
    if (!certain) continue;
    pairs_.push_back({life.op, op, life.id, HazardKind::UseAfterFree, Order::Unordered, *certain, false, false, true});
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
  caller_ = call.thread;
  host_learns(call.thread, {});
  const Node node = last_host_node_[host_of(call.thread)];
  std::erase_if(freed_, [range](const Freed& life) { return life.range.overlaps(range); });
  touch_by_host(node, range, {.op = OpId{operations_}, .mode = mode, .source = AccessSource::Host});
}

void ReferenceModel::touch_by_host(Node node, Range range, Access touch) {
  for (const auto& [memory, bytes] : held(range)) {
    if (memory->kind == MemoryKind::Pageable) continue;
    touch.range = bytes;
    if (sees_threads()) {  // over at once: a later conflict is no error
      memory->all_exact = memory->all_exact && touch.exact;
      compare(*memory, memory->id, memory->range, node, touch, std::nullopt);
    } else {
      access(*memory, node, node, touch);
    }
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
  const std::vector<bool> assumed = before(node, true);
  const std::vector<bool> by_host_function = signalled();
  std::erase_if(loans_, [&](const Loan& loan) {
    bool borrowed = false;
    for (std::uint64_t slice = 0; slice < loan.bytes.slices; ++slice) {
      for (std::uint64_t row = 0; row < loan.bytes.rows; ++row) {
        const Address begin = loan.bytes.base + slice * loan.bytes.slice_pitch + row * loan.bytes.pitch;
        borrowed = borrowed || range.overlaps({begin, begin + loan.bytes.width});
      }
    }
    if (borrowed && !documented[loan.node]) {
      const bool perhaps_signalled = !loan.conditional && by_host_function[loan.node];
      const PassedOn known = passed_on(loan.node, loan.op, {.source = AccessSource::Free}, assumed[loan.node]);
      const bool perhaps = !loan.conditional && known == PassedOn::Perhaps;
      const bool in_doubt = loan.conditional || perhaps_signalled || perhaps;
      const bool latent = !loan.in_place || assumed[loan.node] || known == PassedOn::ByAssumption;
      pairs_.push_back({loan.op, op, AllocationId{}, HazardKind::FreeWhileInUse,
                        latent ? Order::Latent : Order::Unordered, in_doubt ? Certainty::Possible : Certainty::Certain,
                        perhaps_signalled, perhaps, true});
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
  if (Memory* block = block_at(base); block && block->range.begin == base) block->declared.insert(id);
}

// ---- operations ----------------------------------------------------------------------------------------------------

void ReferenceModel::touch(Node start, Node done, const Footprint& footprint, Access each) {
  if (footprint.base == 0 || footprint.width * footprint.rows * footprint.slices == 0) return;
  if (!memory_at(footprint.base)) {
    const bool checked = each.source != AccessSource::Kernel && each.node == 0;  // a launch does not check nodes
    const bool sure = !each.learned && !each.widened && !each.conditional;
    const Certainty found = checked || sure ? Certainty::Certain : Certainty::Possible;
    use_freed(each.op, footprint.base, checked ? Certainty::Possible : found, found);
    return;
  }
  for (std::uint64_t slice = 0; slice < footprint.slices; ++slice) {
    for (std::uint64_t row = 0; row < footprint.rows; ++row) {
      const Address begin = footprint.base + slice * footprint.slice_pitch + row * footprint.pitch;
      for (const auto& [memory, bytes] : held({begin, begin + footprint.width})) {
        each.range = bytes;
        access(*memory, start, done, each);
      }
    }
  }
}

OpId ReferenceModel::launch(Call call, StreamId id, const LaunchShape& shape, std::span<const PointerArgument> pointers,
                            std::span<const KernelBytes> bytes) {
  const Kernel kernel = new_kernel(call, id, shape.dependence);
  touch_kernel(kernel, {.op = OpId{operations_}, .stream = id}, shape, pointers, bytes);
  return OpId{operations_};
}

void ReferenceModel::touch_kernel(const Kernel& kernel, const Access& made, const LaunchShape& shape,
                                  std::span<const PointerArgument> pointers, std::span<const KernelBytes> bytes) {
  Access each = made;
  each.source = AccessSource::Kernel;
  each.atomic_for_host = shape.atomic_for_host;
  each.signalled = shape.signalled;
  each.function = shape.function;
  each.device_threads = shape.threads;
  each.arguments_hash = shape.arguments_hash;
  for (const PointerArgument& pointer : pointers) {
    Memory* memory = memory_at(pointer.address);
    if (!memory) {
      if (pointer.mode != AccessMode::Doubtful)
        use_freed(made.op, pointer.address, Certainty::Possible, Certainty::Possible);
      continue;
    }
    each.mode = pointer.mode;
    each.exact = false;
    each.range = {pointer.address, memory->range.end};
    each.bounded = pointer.reach != 0;
    each.parted = pointer.parted;
    if (each.bounded) each.range.end = std::min(each.range.end, pointer.address + pointer.reach);
    access(*memory, pointer.early ? kernel.start : kernel.waited, kernel.done, each);
  }
  each.exact = true;
  for (const KernelBytes& known : bytes) {
    each.mode = known.mode;
    each.learned = shape.learned && !known.sure;
    each.widened = known.widened;
    each.signals = known.signals;
    touch(known.early ? kernel.start : kernel.waited, kernel.done, known.bytes, each);
  }
}

// ---- graphs --------------------------------------------------------------------------------------------------------

void ReferenceModel::run_node(Node at, const GraphNode& node, Access made, std::optional<ContextId> context) {
  switch (node.kind) {
    case GraphNode::Kind::Kernel:
      return touch_kernel({.node = at, .start = at, .waited = at, .done = at, .end = at}, made, node.shape,
                          node.pointers, node.bytes);
    case GraphNode::Kind::Copy:
    case GraphNode::Kind::Fill:
      for (const Footprint* side : {&node.src, &node.dst}) {
        made.source = node.kind == GraphNode::Kind::Copy ? AccessSource::Copy : AccessSource::Fill;
        made.mode = side == &node.src ? AccessMode::Read : AccessMode::Write;
        touch(at, at, *side, made);
        const bool borrows = node.kind == GraphNode::Kind::Copy && kind_at(side->base) == MemoryKind::Pageable;
        if (borrows) loans_.push_back({at, made.op, *side, made.conditional});
      }
      return;
    case GraphNode::Kind::Allocate:
      allocate({}, node.memory, MemoryKind::DeviceAsync, context);
      made.source = AccessSource::Allocate;
      made.mode = AccessMode::Write;
      made.range = node.memory;
      return access(memories_.back(), at, at, made);
    case GraphNode::Kind::Free:
      if (outer_at(node.memory.begin)) return end_life(at, made.op, node.memory.begin);
      for (const Freed& life : freed_) {
        if (life.range.begin == node.memory.begin)
          return use_freed(made.op, life.range.begin, Certainty::Certain, Certainty::Certain);
      }
      return;
    default:
      return;
  }
}

OpId ReferenceModel::graph_launch(Call call, StreamId id, std::uint64_t exec, const Graph& graph) {
  graph_launch(call, id, exec);
  const OpId op{operations_};
  const Node begin = node_of_.at(op);
  std::vector<Node> made;
  for (const GraphNode& node : graph.nodes()) {
    if (node.kind != GraphNode::Kind::JoinsAll) continue;
    for (Node each = 0; each < begin; ++each) nodes_[begin].documented.push_back(each);
  }
  std::map<EventId, Node> awaited;  // R-GRF-31: what the events are now
  for (const auto& [event, node] : records_) awaited[event] = node;
  for (const GraphNode& node : graph.nodes()) {
    std::vector<Node> before{begin};
    for (const std::uint32_t each : node.after) before.push_back(made[each]);
    const auto event = awaited.find(node.event);
    if (node.kind == GraphNode::Kind::WaitEvent && event != awaited.end()) before.push_back(event->second);
    made.push_back(new_node());
    nodes_[made.back()].documented = before;
    if (node.kind == GraphNode::Kind::RecordEvent && !destroyed_.contains(node.event))
      records_[node.event] = made.back();  // R-GRF-30
    run_node(made.back(), node, {.op = op, .stream = id, .conditional = node.conditional, .node = node.number},
             stream(id).context);
  }
  const Node end = after(begin, made);
  inside_graphs_.push_back(begin);
  inside_graphs_.insert(inside_graphs_.end(), made.begin(), made.end());
  Stream& own = stream(id);
  const bool is_action = !own.actions.empty() && own.actions.back() == begin;
  own.nodes.push_back(end);
  if (is_action) own.actions.push_back(end);
  last_graph_launch_[exec] = end;
  node_of_[op] = end;
  for (const GraphNode& node : graph.nodes()) {
    if (node.kind != GraphNode::Kind::HostFunction) continue;
    host_functions_.push_back(end);
    note_signals();
  }
  return op;
}

std::vector<ReferenceModel::Pair> ReferenceModel::check_graph(const Graph& graph) const {
  ReferenceModel inside({});
  for (const Memory& memory : memories_) {
    inside.memories_.push_back({.id = memory.id, .range = memory.range, .kind = memory.kind});
    inside.memories_.back().block = memory.block;
  }
  std::vector<Node> made;
  for (const GraphNode& node : graph.nodes()) {
    const OpId op{++inside.operations_};
    made.push_back(inside.new_node());
    for (const std::uint32_t each : node.after) inside.nodes_[made.back()].documented.push_back(made[each]);
    inside.node_of_[op] = made.back();
    inside.run_node(made.back(), node, {.op = op, .conditional = node.conditional, .node = node.number}, std::nullopt);
  }
  return inside.pairs();
}

}  // namespace streamsan::ordering

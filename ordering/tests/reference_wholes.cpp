// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference model of calls about a whole: an event of all streams of a context, and a batch of copies that is one
// operation.
#include <algorithm>

#include "ordering/tests/reference_model.h"

namespace streamsan::ordering {
namespace {

void append(std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

OpId ReferenceModel::record_event_of(Call call, std::span<const ContextId> contexts, EventId event) {
  if (contexts.empty() || destroyed_.contains(event)) return kNoOp;
  std::vector<Node> covered;
  for (const ContextId context : contexts) {
    contexts_.insert(context);
    append(covered, covered_by_context(context));
  }
  const auto [known, fresh] = recorders_.try_emplace(contexts.front());
  if (fresh) known->second = create_stream(contexts.front(), StreamKind::NonBlocking);
  const OpId op = record_event(call, known->second, event);
  append(nodes_[records_[event]].documented, covered);
  return op;
}

OpId ReferenceModel::wait_event_by(Call, std::span<const ContextId> contexts, EventId event) {
  const auto record = records_.find(event);
  for (const ContextId context : contexts) {
    if (record == records_.end()) break;
    contexts_.insert(context);
    waited_for_[context].push_back(record->second);
  }
  return OpId{++operations_};
}

OpId ReferenceModel::batch(Call call, StreamId id, std::span<const BatchPart> parts, AccessSource source) {
  pending_.erase(call.thread);
  const auto is_empty = [](const Footprint& side) { return side.width * side.rows * side.slices == 0; };
  std::vector<BatchPart> moved;
  for (const BatchPart& part : parts) {
    if (!is_empty(part.dst) || !is_empty(part.src)) moved.push_back(part);
  }
  if (moved.empty()) return kNoOp;
  const OpId op{operations_ + 1};
  const Access reads{.op = op, .stream = id, .mode = AccessMode::Read, .source = source};
  Access writes = reads;
  writes.mode = AccessMode::Write;
  caller_ = call.thread;
  submitted_[op] = {call.thread, moment_};
  bool during = false;  // R-CPY-32
  for (const BatchPart& part : moved)
    during = during || (part.order == SourceOrder::DuringCall && part.src.base != 0 && !is_empty(part.src));
  if (during) host_learns(call.thread, {});
  for (const BatchPart& part : moved) {
    if (part.order != SourceOrder::DuringCall || part.src.base == 0 || is_empty(part.src)) continue;
    for (std::uint64_t row = 0; row < part.src.rows * part.src.slices; ++row) {
      const Address begin =
          part.src.base + row / part.src.rows * part.src.slice_pitch + row % part.src.rows * part.src.pitch;
      touch_by_host(last_host_node_[host_of(call.thread)], {begin, begin + part.src.width}, reads);
    }
  }
  const Node node = new_operation(call, id, true);
  const Node early = host_node(call.thread);  // R-CPY-33
  bool documented = false;
  for (const BatchPart& part : moved) {
    if (part.order == SourceOrder::Any) touch(early, node, part.src, reads);
  }
  for (const BatchPart& part : moved) {
    const MemoryKind to = kind_at(part.dst.base);
    const MemoryKind from = kind_at(part.src.base);
    const auto is_host = [](MemoryKind kind) {
      return kind == MemoryKind::Pinned || kind == MemoryKind::Registered || kind == MemoryKind::Pageable;
    };
    if (part.order == SourceOrder::Stream) touch(node, node, part.src, reads);
    touch(node, node, part.dst, writes);
    if (source != AccessSource::Copy) continue;
    const bool between_host_memories = is_host(to) && is_host(from);
    documented = documented || between_host_memories;  // R-CPY-17
    if (between_host_memories) continue;
    if (from == MemoryKind::Pageable && part.order != SourceOrder::DuringCall)
      loans_.push_back({.node = node, .op = op, .bytes = part.src, .in_place = part.order == SourceOrder::Any});
    if (to == MemoryKind::Pageable) loans_.push_back({.node = node, .op = op, .bytes = part.dst, .in_place = true});
  }
  set_copy_effect(call, node, {}, {.complete = documented}, {});
  return op;
}

}  // namespace streamsan::ordering

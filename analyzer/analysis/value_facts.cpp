// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about the things that names mean: the kind of a stream or of memory, the op that made it. values.h explains
// it.
#include "analyzer/analysis/values.h"
#include "analyzer/ir/field_memory.h"
#include "analyzer/ir/hidden.h"

namespace streamsan::analyzer {

using LKind = Location::Kind;
using VKind = Value::Kind;

void Values::note_element(ir::PlaceId element) {
  ir::PlaceId variable = element;
  for (;;) {
    const ir::Place& at = function_[variable];
    if (at.base == ir::kNoPlace) break;
    // The target of a pointer is not part of a variable.
    if (at.kind == ir::Place::Kind::Deref) return;
    if (at.kind == ir::Place::Kind::Index && function_[at.base].type == ir::TypeKind::Pointer) return;
    variable = at.base;
  }
  elements_[variable].push_back(element);
}

std::span<const ir::PlaceId> Values::elements_beside(LocationId part) const {
  const Location& variable = (*this)[top(part)];
  const auto found = variable.kind == LKind::Root ? elements_.find(variable.root) : elements_.end();
  return found == elements_.end() ? std::span<const ir::PlaceId>() : found->second;
}

const ir::HandleField* Values::handle_field(LocationId id) const {
  for (const Location* at = &(*this)[id];; at = &(*this)[at->base]) {
    if (at->kind == LKind::Field) return fields_[static_cast<std::size_t>(at->field)].handle;
    if (at->kind != LKind::Index) return nullptr;
  }
}

std::optional<ordering::StreamKind> Values::stream_kind(ValueId stream) const {
  const Value& value = (*this)[stream];
  if (value.kind == VKind::Legacy) return ordering::StreamKind::Legacy;
  if (value.kind == VKind::PerThread) return ordering::StreamKind::PerThread;
  if (value.kind == VKind::Object) return op(value.site).stream_kind;
  if (value.makers != kNoMakers) {
    const std::vector<OpIndex>& ops = (*this)[value.makers];
    for (OpIndex maker : ops)
      if (op(maker).stream_kind != op(ops.front()).stream_kind) return std::nullopt;
    return op(ops.front()).stream_kind;
  }
  if (value.kind != VKind::Content && value.kind != VKind::Merge) return std::nullopt;
  const ir::HandleField* field = handle_field(value.location);
  return field != nullptr ? field->stream_kind : std::nullopt;
}

std::optional<bool> Values::timing(ValueId event) const {
  const Value& value = (*this)[event];
  if (value.kind == VKind::Object) return op(value.site).timing;
  if (value.makers != kNoMakers) {
    const std::vector<OpIndex>& ops = (*this)[value.makers];
    for (OpIndex maker : ops)
      if (op(maker).timing != op(ops.front()).timing) return std::nullopt;
    return op(ops.front()).timing;
  }
  if (value.kind != VKind::Content && value.kind != VKind::Merge) return std::nullopt;
  const ir::HandleField* field = handle_field(value.location);
  return field != nullptr ? field->timing : std::nullopt;
}

const ir::KeptMemory* Values::kept_at(LocationId id) const {
  const auto out_of_arrays = [this](LocationId at) {
    while (at != kNowhere && (*this)[at].kind == LKind::Index) at = (*this)[at].base;
    return at;
  };
  id = out_of_arrays(id);
  const bool variable = id != kNowhere && (*this)[id].kind == LKind::Root;
  if (!variable && (id == kNowhere || (*this)[id].kind != LKind::Field)) return nullptr;
  const ir::Place::Kind root = variable ? function_[(*this)[id].root].kind : ir::Place::Kind::Field;
  if (variable && root != ir::Place::Kind::Global) return nullptr;
  std::string key = variable ? ir::global_key(function_[(*this)[id].root]) : field_name(id);
  // The block of a container or tensor is identified by the field that holds the object.
  if (ir::class_of_block(key)) {
    const LocationId owner = out_of_arrays((*this)[id].base);
    if (owner == kNowhere || (*this)[owner].kind != LKind::Field) return nullptr;
    key = ir::block_of(field_name(owner));
  }
  const auto known = field_memory_.find(key);
  return known == field_memory_.end() ? nullptr : &known->second;
}

const ir::KeptMemory* Values::kept_memory(ValueId memory) const {
  const Value& value = (*this)[memory];
  if (value.kind == VKind::Shifted) return kept_memory(value.since);
  return value.kind == VKind::Content && value.makers == kNoMakers ? kept_at(value.location) : nullptr;
}

std::optional<ordering::MemoryKind> Values::memory_kind(ValueId memory) const {
  const Value& value = (*this)[memory];
  switch (value.kind) {
    case VKind::Object:
      return op(value.site).memory;
    case VKind::Content:
      if (value.makers == kNoMakers) {
        const ir::KeptMemory* kept = kept_memory(memory);
        return kept == nullptr ? std::nullopt : std::optional(kept->kind);
      }
      for (OpIndex maker : (*this)[value.makers])
        if (op(maker).memory != op((*this)[value.makers].front()).memory) return std::nullopt;
      return op((*this)[value.makers].front()).memory;
    case VKind::Address:
      if (local(value.location)) return ordering::MemoryKind::Pageable;
      return std::nullopt;
    case VKind::Shifted:
      return memory_kind(value.since);
    default:
      return std::nullopt;
  }
}

OpIndex Values::maker(ValueId id) const {
  const Value& value = (*this)[id];
  if (value.kind == VKind::Object) return value.site;
  if (value.kind == VKind::Shifted) return maker(value.since);
  if (value.makers != kNoMakers && (*this)[value.makers].size() == 1) return (*this)[value.makers].front();
  return kNoOp;
}

}  // namespace streamsan::analyzer

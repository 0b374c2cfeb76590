// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The catalogue of models: names spelled out, facts derived. See catalog.h.
#include "analyzer/models/catalog.h"

#include <algorithm>

namespace streamsan::analyzer {

namespace {

using api::CallForm;
using api::Direction;
using api::EffectKind;
using ordering::MemoryKind;

bool is_copy(EffectKind kind) {
  return kind == EffectKind::Copy || kind == EffectKind::Copy2D || kind == EffectKind::Copy3D;
}

bool is_fill(EffectKind kind) { return kind == EffectKind::Fill || kind == EffectKind::Fill2D; }

/// What an allocation makes and a free ends.
std::optional<MemoryKind> memory_of(EffectKind kind) {
  switch (kind) {
    case EffectKind::Alloc:
    case EffectKind::AllocPitch:
    case EffectKind::Map:
    case EffectKind::Import:
    case EffectKind::GlobalLookup:
    case EffectKind::Free:
      return MemoryKind::Device;
    case EffectKind::AllocHost:
    case EffectKind::FreeHost:
      return MemoryKind::Pinned;
    case EffectKind::AllocManaged:
      return MemoryKind::Managed;
    case EffectKind::AllocAsync:
    case EffectKind::FreeAsync:
    case EffectKind::Unmap:  // as cudaFree() of such memory it waits for nothing (R-VMM-01)
      return MemoryKind::DeviceAsync;
    case EffectKind::Register:
    case EffectKind::Unregister:
      return MemoryKind::Registered;
    default:
      return std::nullopt;
  }
}

/// Enqueues, or orders by, a stream: without a stream argument it means the default stream.
bool uses_stream(EffectKind kind) {
  switch (kind) {
    case EffectKind::Launch:
    case EffectKind::Copy:
    case EffectKind::Copy2D:
    case EffectKind::Copy3D:
    case EffectKind::Fill:
    case EffectKind::Fill2D:
    case EffectKind::AllocAsync:
    case EffectKind::FreeAsync:
    case EffectKind::EventRecord:
    case EffectKind::EventWait:
    case EffectKind::SyncStream:
    case EffectKind::QueryStream:
    case EffectKind::HostFunction:
    case EffectKind::StreamAction:
    case EffectKind::StreamJoinsAll:
    case EffectKind::GraphLaunch:
      return true;
    default:
      return false;
  }
}

/// Measured on a capture in global mode (rules R-GRF-06, 08, 09): allocation, frees, synchronisation and queries are
/// refused whichever stream or event they name; synchronous copies are refused beside a blocking stream and run at
/// once, outside the graph, beside a non-blocking one. Creating streams and events is allowed.
bool unsafe_in_capture(const api::Effect& effect) {
  switch (effect.kind) {
    case EffectKind::Alloc:
    case EffectKind::AllocPitch:
    case EffectKind::AllocHost:
    case EffectKind::AllocManaged:
    case EffectKind::Free:
    case EffectKind::FreeHost:
    case EffectKind::SyncStream:
    case EffectKind::SyncEvent:
    case EffectKind::SyncContext:
    case EffectKind::QueryStream:
    case EffectKind::QueryEvent:
    case EffectKind::ContextDestroy:
      return true;
    default:
      return (is_copy(effect.kind) || is_fill(effect.kind)) && effect.form == CallForm::Synchronous;
  }
}

void derive_roles(Model& model) {
  const api::Effect& effect = model.effect;
  if (!model.roles.empty()) return;
  const bool linear = effect.kind == EffectKind::Copy || effect.kind == EffectKind::Fill;
  const int bytes = linear && effect.unit == 1 ? effect.bytes : -1;
  // A descriptor stands alone at src: what it names is not known.
  const bool named = effect.kind == EffectKind::Copy || effect.direction == Direction::Array || effect.dst >= 0;
  if (is_copy(effect.kind) && named) {
    if (effect.dst >= 0)
      model.roles.push_back({.argument = effect.dst,
                             .mode = ir::Mode::Write,
                             .bytes_argument = bytes,
                             .host = effect.direction == Direction::DeviceToHost});
    if (effect.src >= 0)
      model.roles.push_back({.argument = effect.src,
                             .mode = ir::Mode::Read,
                             .bytes_argument = bytes,
                             .host = effect.direction == Direction::HostToDevice});
  }
  if (is_fill(effect.kind) && effect.dst >= 0)
    model.roles.push_back({.argument = effect.dst, .mode = ir::Mode::Write, .bytes_argument = bytes});
}

/// The C++ library, memcpy() and its kind. Others may be given memory of the device, or know what to do with it (MPI).
bool is_host_only(std::string_view name) { return name.starts_with("std::") || name.starts_with("mem"); }

}  // namespace

Model model_of(std::string name, const Facts& facts) {
  Model model;
  model.name = std::move(name);
  model.action = facts.action;
  model.effect = facts.effect;
  model.stream_from = facts.stream_from;
  model.stream_argument = facts.stream_argument;
  model.handle_argument = facts.handle_argument;
  model.config_argument = facts.config_argument;
  model.value_argument = facts.value_argument;
  model.count_argument = facts.count_argument;
  model.peer_argument = facts.peer_argument;
  model.kind_argument = facts.kind_argument;
  model.symbol_argument = facts.symbol_argument;
  model.offset_argument = facts.offset_argument;
  model.non_blocking_argument = facts.non_blocking_argument;
  model.null_argument = facts.null_argument;
  model.first_kernel_argument = facts.first_kernel_argument;
  model.after_policy = facts.after_policy;
  const auto* const end =
      std::find_if(facts.roles.begin(), facts.roles.end(), [](const Role& r) { return r.argument == -1; });
  model.roles.assign(facts.roles.begin(), end);
  for (const PointerTable& table : facts.tables)
    if (table.argument >= 0) model.tables.push_back(table);
  model.member = facts.member;
  model.memory = facts.memory;
  model.stream_kind = facts.stream_kind;
  model.timing = facts.timing;
  model.caching = facts.caching;
  model.may_alias = facts.may_alias;
  model.transfers = facts.transfers || facts.action == ActionKind::TensorCopy;
  model.pooled = facts.pooled;
  model.makes_handle = facts.makes_handle;
  model.uses_work_area = facts.uses_work_area;
  model.work_area_argument = facts.work_area_argument;
  model.works_on_host = facts.works_on_host;
  model.maker_for_host = facts.maker_for_host;
  return model;
}

/// Arrays are not followed: what is copied to and from them is seen at the other side only.
bool is_of_arrays(EffectKind kind) {
  return kind == EffectKind::ArrayCreate || kind == EffectKind::ArrayPart || kind == EffectKind::ArrayFree ||
         kind == EffectKind::TextureCreate;
}

void derive(Model& model) {
  model.host_only = is_host_only(model.name);
  if (model.action == ActionKind::Effect) {
    const api::Effect& effect = model.effect;
    if (effect.kind == EffectKind::Pass || effect.kind == EffectKind::Init ||
        effect.kind == EffectKind::FunctionLookup || is_of_arrays(effect.kind)) {
      model.action = ActionKind::Nothing;
      return;
    }
    if (!model.memory) model.memory = memory_of(effect.kind);
    if (effect.kind == EffectKind::LaunchConfig && model.config_argument < 0) model.config_argument = effect.src;
    if (model.stream_from == StreamFrom::None) {
      if (effect.kind == EffectKind::LaunchConfig)
        model.stream_from = StreamFrom::Config;
      else if (effect.stream != api::kAbsent)
        model.stream_from = StreamFrom::Argument;
      else if (uses_stream(effect.kind))
        model.stream_from = StreamFrom::Default;
    }
    derive_roles(model);
    model.may_block_pageable = is_copy(effect.kind) && effect.form == CallForm::Asynchronous;
    model.unsafe_in_capture = unsafe_in_capture(effect);
  }
  if (model.stream_from == StreamFrom::Argument && model.stream_argument == -1)
    model.stream_argument = model.effect.stream;
  if (model.stream_from == StreamFrom::None && model.stream_argument != -1) model.stream_from = StreamFrom::Argument;
  if (model.stream_from == StreamFrom::None && model.handle_argument != -1 && model.action == ActionKind::LibraryWork)
    model.stream_from = StreamFrom::Handle;
}

std::vector<std::string> expand(std::string_view pattern) {
  std::size_t open = pattern.find_first_of("[{");
  while (open != std::string_view::npos && pattern.substr(open, 2) == "[]")
    open = pattern.find_first_of("[{", open + 2);
  if (open == std::string_view::npos) return {std::string(pattern)};
  const bool letters = pattern[open] == '[';
  const std::size_t close = pattern.find(letters ? ']' : '}', open);
  const std::string_view choice = pattern.substr(open + 1, close - open - 1);
  std::vector<std::string> out;
  const std::vector<std::string> tails = expand(pattern.substr(close + 1));
  const auto add = [&](std::string_view middle) {
    for (const std::string& tail : tails)
      out.push_back(std::string(pattern.substr(0, open)) + std::string(middle) + tail);
  };
  if (letters) {
    for (std::size_t i = 0; i < choice.size(); ++i) add(choice.substr(i, 1));
  } else {
    for (std::size_t from = 0; from <= choice.size();) {
      const std::size_t comma = std::min(choice.find(',', from), choice.size());
      add(choice.substr(from, comma - from));
      from = comma + 1;
    }
  }
  return out;
}

void Catalog::add(std::string_view pattern, Model model, int arguments) {
  derive(model);
  for (const std::string& name : expand(pattern)) {
    Overloads& overloads = by_name_[name];
    const bool known =
        std::any_of(overloads.begin(), overloads.end(), [&](const auto& o) { return o.first == arguments; });
    if (known) continue;
    Model& stored = models_.emplace_back(model);
    if (stored.name.empty()) stored.name = name;
    overloads.emplace_back(arguments, &stored);
  }
}

void Catalog::add(std::span<const ModelRow> rows) {
  for (const ModelRow& row : rows) add(row.pattern, model_of({}, row.facts), row.arguments);
}

void Catalog::put_first(const std::string& name, Model model, int arguments) {
  derive(model);
  Overloads& overloads = by_name_[name];
  Model& stored = models_.emplace_back(std::move(model));
  // A model for any number of arguments hides all that were there.
  if (arguments == kAnyArguments) overloads.clear();
  std::erase_if(overloads, [&](const auto& o) { return o.first == arguments; });
  overloads.emplace_back(arguments, &stored);
}

const Model* Catalog::find(std::string_view name, unsigned arguments) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  const Model* any = nullptr;
  for (const auto& [count, model] : found->second) {
    if (count == static_cast<int>(arguments)) return model;
    if (count == kAnyArguments) any = model;
  }
  return any;
}

}  // namespace streamsan::analyzer

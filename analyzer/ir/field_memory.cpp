// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kind of memory the fields of classes hold.
//
// What a copy or a fill waits for depends on the kind of its memory, and a method that uses a buffer of its class does
// not allocate it: the constructor does. If all stores to a field that the program shows leave memory of one kind there,
// the field holds that kind. A store of anything else, a parameter above all, and a helper that is given the field to
// write it, end what is known. Errs where another file stores another kind into a field that is open to it.
#include "analyzer/ir/field_memory.h"

#include <optional>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

using ordering::MemoryKind;
using Kinds = std::map<std::string, std::optional<MemoryKind>>;

std::string memory_key(const Function& function, PlaceId place) {
  if (place == kNoPlace || function[place].type != TypeKind::Pointer) return {};
  if (function[place].kind != Place::Kind::Field || !is(function[place], Hidden::Data))
    return field_key(function, place);
  const std::string owner = field_key(function, function[place].base);
  return owner.empty() ? owner : block_of(owner);
}

void note(Kinds& kinds, const std::string& key, std::optional<MemoryKind> kind) {
  if (key.empty()) return;
  const auto [entry, is_new] = kinds.try_emplace(key, kind);
  if (!is_new && entry->second != kind) entry->second.reset();
}

/// What a variable of the function is given by every op that writes it.
std::optional<MemoryKind> kind_of_variable(const Function& function, PlaceId variable) {
  std::optional<MemoryKind> kind;
  for (const Block& block : function.blocks)
    for (const Op& op : block.ops) {
      if (op.target != variable || op.source.kind == Operand::Kind::Null) continue;
      if (op.kind != OpKind::Allocate || !op.memory || (kind && kind != op.memory)) return std::nullopt;
      kind = op.memory;
    }
  return kind;
}

void see(const Function& function, const Op& op, Kinds& kinds) {
  if (op.kind == OpKind::Call)
    for (const Operand& argument : op.arguments)
      if (argument.kind == Operand::Kind::Address) note(kinds, memory_key(function, argument.place), std::nullopt);
  const std::string key = memory_key(function, op.target);
  if (key.empty()) return;
  if (op.kind == OpKind::Allocate) return note(kinds, key, op.memory);
  if (op.kind == OpKind::Assign) {
    if (op.source.kind == Operand::Kind::Null) return;
    if (op.source.kind == Operand::Kind::Value) {
      if (memory_key(function, op.source.place) == key) return;
      if (function[op.source.place].base == kNoPlace)
        return note(kinds, key, kind_of_variable(function, op.source.place));
    }
  }
  note(kinds, key, std::nullopt);
}

}  // namespace

std::map<std::string, MemoryKind> field_memory(const Program& program) {
  Kinds kinds;
  for (const auto& [usr, function] : program.functions)
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops) see(function, op, kinds);
  std::map<std::string, MemoryKind> result;
  for (const auto& [key, kind] : kinds)
    if (kind) result.emplace(key, *kind);
  return result;
}

}  // namespace streamsan::analyzer::ir

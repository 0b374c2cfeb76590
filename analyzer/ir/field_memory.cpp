// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kind of memory the fields of classes hold, and the variables that only this file can name.
//
// What a copy or a fill waits for depends on the kind of its memory, and a method that uses a buffer of its class does
// not allocate it: the constructor does. If all stores to a field that the program shows leave memory of one kind there,
// the field holds that kind. What a function returns that makes it counts, and so do the initialisers of static local
// variables. A store of anything else, a parameter above all, and a helper that is given the field to write it, end what
// is known. Errs where another file stores another kind into a field that is open to it.
#include "analyzer/ir/field_memory.h"

#include <optional>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

using ordering::MemoryKind;
using Kinds = std::map<std::string, std::optional<MemoryKind>>;

class Stores {
 public:
  explicit Stores(const Program& program) : program_(program) {}

  void see(const Function& function) {
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops) see(function, op);
  }
  [[nodiscard]] const Kinds& kinds() const { return kinds_; }

 private:
  /// Empty: it is no place of which all stores can be in sight.
  [[nodiscard]] std::string memory_key(const Function& function, PlaceId place) const {
    if (place == kNoPlace || function[place].type != TypeKind::Pointer) return {};
    PlaceId whole = place;
    while (function[whole].kind == Place::Kind::Index && function[function[whole].base].type == TypeKind::Object)
      whole = function[whole].base;
    if (function[whole].kind == Place::Kind::Global) return global_key(function[whole]);
    if (function[place].kind != Place::Kind::Field || !is(function[place], Hidden::Data))
      return field_key(function, place);
    const std::string owner = field_key(function, function[place].base);
    return owner.empty() ? owner : block_of(owner);
  }

  void note(const std::string& key, std::optional<MemoryKind> kind) {
    if (key.empty()) return;
    const auto [entry, is_new] = kinds_.try_emplace(key, kind);
    if (!is_new && entry->second != kind) entry->second.reset();
  }

  /// What a variable of the function is given by every op that writes it.
  [[nodiscard]] std::optional<MemoryKind> kind_of_variable(const Function& function, PlaceId variable,
                                                           int depth) const {
    std::optional<MemoryKind> kind;
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops) {
        if (op.target != variable || op.source.kind == Operand::Kind::Null) continue;
        const auto given = op.kind == OpKind::Allocate ? op.memory
                           : op.kind == OpKind::Call   ? kind_returned(op.callee, depth + 1)
                                                       : std::nullopt;
        if (!given || (kind && kind != given)) return std::nullopt;
        kind = given;
      }
    return kind;
  }

  /// Of a function that makes memory and returns it, on all ways.
  [[nodiscard]] std::optional<MemoryKind> kind_returned(const std::string& usr, int depth) const {
    constexpr int kDeepest = 4;
    const auto known = program_.functions.find(usr);
    if (known == program_.functions.end() || depth > kDeepest) return std::nullopt;
    const Function& function = known->second;
    std::optional<MemoryKind> kind;
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops) {
        if (op.kind != OpKind::Return || op.source.kind == Operand::Kind::Null) continue;
        if (op.source.kind != Operand::Kind::Value || function[op.source.place].base != kNoPlace) return std::nullopt;
        const auto given = kind_of_variable(function, op.source.place, depth);
        if (!given || (kind && kind != given)) return std::nullopt;
        kind = given;
      }
    return kind;
  }

  void see(const Function& function, const Op& op) {
    if (op.kind == OpKind::Escape && op.source.kind == Operand::Kind::Address)
      note(memory_key(function, op.source.place), std::nullopt);
    if (op.kind == OpKind::Call)
      for (const Operand& argument : op.arguments)
        if (argument.kind == Operand::Kind::Address) note(memory_key(function, argument.place), std::nullopt);
    const std::string key = memory_key(function, op.target);
    if (key.empty()) return;
    // What goes back to a free list has come out of it.
    const bool next = is(function[op.target], Hidden::Next);
    if (next ? op.kind == OpKind::Assign : op.pooled) return;
    if (op.kind == OpKind::Allocate) return note(key, op.memory);
    if (op.kind == OpKind::Call) return note(key, kind_returned(op.callee, 0));
    if (op.kind == OpKind::Assign) {
      if (op.source.kind == Operand::Kind::Null) return;
      if (op.source.kind == Operand::Kind::Value) {
        if (memory_key(function, op.source.place) == key) return;
        if (function[op.source.place].base == kNoPlace)
          return note(key, kind_of_variable(function, op.source.place, 0));
      }
    }
    note(key, std::nullopt);
  }

  const Program& program_;
  Kinds kinds_;
};

}  // namespace

std::string global_key(const Place& variable) {
  return variable.number == kOfThisFile ? "::" + variable.name : std::string();
}

std::map<std::string, MemoryKind> field_memory(const Program& program) {
  Stores stores(program);
  for (const auto& [usr, function] : program.functions) stores.see(function);
  std::map<std::string, MemoryKind> result;
  for (const auto& [key, kind] : stores.kinds())
    if (kind) result.emplace(key, *kind);
  return result;
}

}  // namespace streamsan::analyzer::ir

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kind of memory the fields of classes hold, and the variables that only this file can name; and where it is
// allocated, if all of it is at one place.
//
// What a copy or a fill waits for depends on the kind of its memory, and a method that uses a buffer of its class does
// not allocate it: the constructor does. If all stores to a field that the program shows leave memory of one kind
// there, the field holds that kind. What a function returns that makes it counts, and so do the initialisers of static
// local variables. A store of anything else, a parameter above all, and a helper that is given the field to write it,
// end what is known. Errs where another file stores another kind into a field that is open to it.
#include "analyzer/ir/field_memory.h"

#include <optional>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

using Given = std::optional<KeptMemory>;

/// What two stores leave there.
Given both(const Given& one, const Given& other) {
  if (!one || !other || one->kind != other->kind) return std::nullopt;
  const bool same = one->made.file == other->made.file && one->made.line == other->made.line;
  return same ? one : KeptMemory{one->kind, {}};
}

class Stores {
 public:
  explicit Stores(const Program& program) : program_(program) {}

  void see(const Function& function) {
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops) see(function, op);
  }
  [[nodiscard]] const std::map<std::string, Given>& given() const { return given_; }

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

  void note(const std::string& key, const Given& given) {
    if (key.empty()) return;
    const auto [entry, is_new] = given_.try_emplace(key, given);
    if (!is_new) entry->second = both(entry->second, given);
  }

  static Given allocated(const Function& function, const Op& op) {
    if (!op.memory) return std::nullopt;
    return KeptMemory{*op.memory, op.site == kNoSite ? Site{} : function[op.site]};
  }

  /// What a variable of the function is given by every op that writes it.
  [[nodiscard]] Given given_to_variable(const Function& function, PlaceId variable, int depth) const {
    Given all;
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops) {
        if (op.target != variable || op.source.kind == Operand::Kind::Null) continue;
        const Given given = op.kind == OpKind::Allocate ? allocated(function, op)
                            : op.kind == OpKind::Call   ? returned(op.callee, depth + 1)
                                                        : std::nullopt;
        all = all ? both(all, given) : given;
        if (!all) return std::nullopt;
      }
    return all;
  }

  /// Of a function that makes memory and returns it, on all ways.
  [[nodiscard]] Given returned(const std::string& usr, int depth) const {
    constexpr int kDeepest = 4;
    const auto known = program_.functions.find(usr);
    if (known == program_.functions.end() || depth > kDeepest) return std::nullopt;
    const Function& function = known->second;
    Given all;
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops) {
        if (op.kind != OpKind::Return || op.source.kind == Operand::Kind::Null) continue;
        if (op.source.kind != Operand::Kind::Value || function[op.source.place].base != kNoPlace) return std::nullopt;
        const Given given = given_to_variable(function, op.source.place, depth);
        all = all ? both(all, given) : given;
        if (!all) return std::nullopt;
      }
    return all;
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
    if (op.kind == OpKind::Allocate) return note(key, allocated(function, op));
    if (op.kind == OpKind::Call) return note(key, returned(op.callee, 0));
    if (op.kind == OpKind::Assign) {
      if (op.source.kind == Operand::Kind::Null) return;
      if (op.source.kind == Operand::Kind::Value) {
        if (memory_key(function, op.source.place) == key) return;
        if (function[op.source.place].base == kNoPlace)
          return note(key, given_to_variable(function, op.source.place, 0));
      }
    }
    note(key, std::nullopt);
  }

  const Program& program_;
  std::map<std::string, Given> given_;
};

}  // namespace

std::string global_key(const Place& variable) {
  return variable.number == kOfThisFile ? "::" + variable.name : std::string();
}

std::map<std::string, KeptMemory> field_memory(const Program& program) {
  Stores stores(program);
  for (const auto& [usr, function] : program.functions) stores.see(function);
  std::map<std::string, KeptMemory> result;
  for (const auto& [key, given] : stores.given())
    if (given) result.emplace(key, *given);
  return result;
}

}  // namespace streamsan::analyzer::ir

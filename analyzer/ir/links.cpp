// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/ir/links.h"

#include <algorithm>

#include "analyzer/ir/field_memory.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

/// Numbers order nothing, and a variable of the file's own is nobody else's.
std::string shared_name(const Place& place) {
  if (place.type == TypeKind::Other || place.type == TypeKind::Integer) return {};
  if (place.kind == Place::Kind::Field) return place.owner.empty() ? "" : place.owner + "::" + place.name;
  const bool is_shared =
      place.kind == Place::Kind::Global && place.number != kOfThisFile && !place.name.starts_with('$');
  return is_shared ? place.name : "";
}

/// Fields and globals on the way to a place. False: it is behind a variable of the function's own, as far as is seen.
bool add_names(const Function& function, PlaceId id, std::set<std::string>& names) {
  bool any = false;
  for (; id != kNoPlace; id = function[id].base)
    if (std::string name = shared_name(function[id]); !name.empty()) {
      names.insert(std::move(name));
      any = true;
    }
  return any;
}

/// What the function changes for others, or orders with what they do. Enqueueing work alone does neither.
std::set<std::string> told_by(const Function& function, const std::set<std::string>& used) {
  std::set<std::string> told;
  // A handle in a local variable may be that of any field.
  const auto handle = [&](const Operand& operand) {
    const bool is_place = operand.kind == Operand::Kind::Value || operand.kind == Operand::Kind::Address;
    if (is_place && !add_names(function, operand.place, told)) told.insert(used.begin(), used.end());
  };
  for (const Block& block : function.blocks)
    for (const Op& op : block.ops) switch (op.kind) {
        case OpKind::Assign:
        case OpKind::Fresh:
        case OpKind::CreateStream:
        case OpKind::CreateEvent:
        case OpKind::Allocate:
          add_names(function, op.target, told);
          break;
        case OpKind::Free:
        case OpKind::EndOfLife:
        case OpKind::Escape:
          add_names(function, op.source.place, told);
          break;
        case OpKind::DestroyHandle:
          handle(op.source);
          break;
        case OpKind::Record:
        case OpKind::Wait:
        case OpKind::SyncStream:
        case OpKind::SyncEvent:
        case OpKind::QueryStream:
        case OpKind::QueryEvent:
          handle(op.stream);
          handle(op.event);
          break;
        case OpKind::SyncDevice:
          told.insert(used.begin(), used.end());
          break;
        default:
          break;
      }
  return told;
}

}  // namespace

Links links_of(const Program& program) {
  Links links;
  for (const auto& [usr, function] : program.functions) {
    auto& [used, told] = links.functions[usr];
    for (std::size_t i = 0; i < function.places.size(); ++i) {
      std::string name = shared_name(function.places[i]);
      if (name.empty()) continue;
      // Two methods of one class are two ways to use its objects, whatever they do.
      const PlaceId variable = root(function, static_cast<PlaceId>(i)).place;
      if (function[variable].kind == Place::Kind::This) told.insert(name);
      used.insert(std::move(name));
    }
    told.merge(told_by(function, used));
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops)
        if (op.kind == OpKind::Call && !program.functions.contains(op.callee)) links.calls.insert(op.callee);
  }
  return links;
}

std::vector<bool> depend_on_others(const std::vector<Links>& units) {
  std::set<std::string> defined;
  std::map<std::string, std::set<std::string>> tellers;  // functions, by what they tell of
  for (const Links& unit : units)
    for (const auto& [usr, uses] : unit.functions) {
      defined.insert(usr);
      for (const std::string& name : uses.told) tellers[name].insert(usr);
    }
  std::vector<bool> result;
  for (const Links& unit : units) {
    const auto is_new = [&](const std::string& usr) { return !unit.functions.contains(usr); };
    bool depends = std::ranges::any_of(unit.calls, [&](const std::string& usr) { return defined.contains(usr); });
    for (const auto& [usr, uses] : unit.functions)
      for (const std::string& name : uses.used)
        if (const auto known = tellers.find(name); known != tellers.end())
          depends = depends || std::ranges::any_of(known->second, is_new);
    result.push_back(depends);
  }
  return result;
}

}  // namespace streamsan::analyzer::ir

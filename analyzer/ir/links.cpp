// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/ir/links.h"

#include <algorithm>

#include "analyzer/ir/field_memory.h"

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

/// It changes what others find there, or what they are ordered with: enqueueing work alone does not.
bool tells_others(const Function& function) {
  const auto is_own = [&](PlaceId id) {
    for (const Place* place = &function[id];; place = &function[place->base]) {
      if (place->kind == Place::Kind::Local || place->kind == Place::Kind::Temporary) return true;
      // Behind a pointer lies what may be anybody's.
      if (place->base == kNoPlace || function[place->base].type == TypeKind::Pointer) return false;
    }
  };
  return std::ranges::any_of(function.blocks, [&](const Block& block) {
    return std::ranges::any_of(block.ops, [&](const Op& op) {
      switch (op.kind) {
        case OpKind::Enqueue:
        case OpKind::EndOfLife:
        case OpKind::HostAccess:
        case OpKind::Call:
        case OpKind::Return:
        case OpKind::SetDevice:
        case OpKind::Escape:
          return false;
        case OpKind::Assign:
        case OpKind::Fresh:
        case OpKind::CreateStream:
        case OpKind::CreateEvent:
        case OpKind::Allocate:
          return op.target != kNoPlace && !is_own(op.target);
        default:
          return true;
      }
    });
  });
}

/// Two methods of one class are two ways to use its objects, whatever they do.
bool is_of_object(const Function& function, const Place& place) {
  const Place* at = &place;
  while (at->base != kNoPlace) at = &function[at->base];
  return at->kind == Place::Kind::This;
}

}  // namespace

Links links_of(const Program& program) {
  Links links;
  for (const auto& [usr, function] : program.functions) {
    auto& [used, told] = links.functions[usr];
    const bool tells = tells_others(function);
    for (const Place& place : function.places) {
      const std::string name = shared_name(place);
      if (name.empty()) continue;
      used.insert(name);
      if (tells || is_of_object(function, place)) told.insert(name);
    }
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

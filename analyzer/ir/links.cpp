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

}  // namespace

Links links_of(const Program& program) {
  Links links;
  for (const auto& [usr, function] : program.functions) {
    std::set<std::string>& used = links.functions[usr];
    for (const Place& place : function.places)
      if (std::string name = shared_name(place); !name.empty()) used.insert(std::move(name));
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops)
        if (op.kind == OpKind::Call && !program.functions.contains(op.callee)) links.calls.insert(op.callee);
  }
  return links;
}

std::vector<bool> depend_on_others(const std::vector<Links>& units) {
  std::set<std::string> defined;
  std::map<std::string, std::set<std::string>> users;  // functions, by what they use
  for (const Links& unit : units)
    for (const auto& [usr, used] : unit.functions) {
      defined.insert(usr);
      for (const std::string& name : used) users[name].insert(usr);
    }
  std::vector<bool> result;
  for (const Links& unit : units) {
    const auto is_new = [&](const std::string& usr) { return !unit.functions.contains(usr); };
    bool depends = std::ranges::any_of(unit.calls, [&](const std::string& usr) { return defined.contains(usr); });
    for (const auto& [usr, used] : unit.functions)
      for (const std::string& name : used) depends = depends || std::ranges::any_of(users.at(name), is_new);
    result.push_back(depends);
  }
  return result;
}

}  // namespace streamsan::analyzer::ir

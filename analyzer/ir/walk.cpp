// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What belongs to a function alone, found without following its control flow: coarse, and safe in one direction only.
// What is called own is own on all paths; a variable that is assigned once counts as assigned everywhere.
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {

Root root(const Function& function, PlaceId path) {
  Root root{path, false};
  while (function[root.place].base != kNoPlace) {
    root.through_pointer = root.through_pointer || function[root.place].kind == Place::Kind::Deref;
    root.place = function[root.place].base;
  }
  return root;
}

bool is_own(const Place& variable) {
  return variable.kind == Place::Kind::Local || variable.kind == Place::Kind::Temporary ||
         (variable.kind == Place::Kind::Parameter && !variable.reference);
}

Variables::Variables(const Function& function) : function_(function), assigned_(function.places.size()) {
  for (std::size_t i = 0; i < function.places.size(); ++i) {
    assigned_[i] = function.places[i].kind == Place::Kind::Parameter;
  }
  for (const Block& block : function.blocks) {
    for (const Op& op : block.ops) {
      if (op.target != kNoPlace && op.kind != OpKind::Fresh) {
        assigned_[static_cast<std::size_t>(root(function, op.target).place)] = true;
      }
    }
  }
}

bool Variables::is_own_part(PlaceId path) const {
  const Root start = root(function_, path);
  return !start.through_pointer && is_own(function_[start.place]);
}

bool Variables::is_unknown_part(PlaceId path) const {
  return is_own_part(path) && !assigned_[static_cast<std::size_t>(root(function_, path).place)];
}

bool Variables::is_own_bytes(OpKind kind, const Operand& operand) const {
  const bool touched = kind == OpKind::EndOfLife || kind == OpKind::HostAccess;
  switch (operand.kind) {
    case Operand::Kind::Address:
      return (touched && is_own_part(operand.place)) || (kind == OpKind::Escape && is_unknown_part(operand.place));
    case Operand::Kind::Value:
      return (touched || kind == OpKind::Escape) && is_unknown_part(operand.place);
    default:
      return false;
  }
}

}  // namespace streamsan::analyzer::ir

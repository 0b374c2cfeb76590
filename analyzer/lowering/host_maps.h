// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::map and its kin; see host_maps.cpp.
#pragma once

#include <optional>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"
#include "clang/AST/Type.h"

namespace streamsan::analyzer::host {

class Assignments;
class FunctionBuilder;
class MapKeys;
class Places;
class Values;
struct Parts;
struct Unit;

class Maps {
 public:
  explicit Maps(const Parts& parts);

  /// Lowers the call if it reads or changes a map, and says if it was one.
  bool apply(const Call& call);
  /// The value that a key has in the map. kNoPlace: it is no map.
  ir::PlaceId slot_at(ir::PlaceId map, ir::ExprId key);
  /// A condition that looks for an entry, such as `it == m.end()`, asks whether the pointer in it is null. Absent: it
  /// asks something else, or an entry holds no pointer.
  std::optional<ir::Expr> asks_for_entry(const clang::Expr& condition);

 private:
  /// The value_type of a map. Null: it is no map.
  [[nodiscard]] clang::QualType entry_type(clang::QualType map) const;
  /// The value that `key` has in the map.
  ir::PlaceId slot(const Call& call, const clang::Expr& key);
  /// The same of an entry.
  ir::PlaceId second_of(ir::PlaceId entry, clang::QualType type);
  void erase(const Call& call);

  Unit& unit_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  MapKeys& keys_;
};

}  // namespace streamsan::analyzer::host

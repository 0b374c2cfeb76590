// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the key of a map is; see map_keys.cpp.
#pragma once

#include <optional>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"
#include "clang/AST/Type.h"

namespace streamsan::analyzer::host {

class FunctionBuilder;
class Places;
class Tuples;
class Values;
struct Parts;
struct Unit;

class MapKeys {
 public:
  explicit MapKeys(const Parts& parts);

  /// As an index of the map.
  ir::ExprId key(const clang::Expr& written);
  /// Before a call whose code is seen: which words its parameters are.
  void name_words(const Call& call);

 private:
  bool add(ir::Expr& to, const clang::Expr* part, int depth);
  bool add_place(ir::Expr& to, ir::PlaceId part, clang::QualType type, int depth);
  static void append(ir::Expr& to, const ir::Expr& part);
  /// A string of which it is known where its word is; absent: not known.
  std::optional<ir::Expr> word(const clang::Expr* written);
  ir::PlaceId word_of(ir::PlaceId string);

  Unit& unit_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Tuples& tuples_;
};

}  // namespace streamsan::analyzer::host

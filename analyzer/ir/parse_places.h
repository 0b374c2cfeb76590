// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths, expressions and operands of the text form, read into a Function.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "analyzer/ir/cursor.h"
#include "analyzer/ir/ir.h"
#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {

class PlaceReader {
 public:
  explicit PlaceReader(Function& function) : function_(function) {}

  /// Enters a variable that a declaration names.
  PlaceId declare(Place place);
  /// A path; a part that is met for the first time gets the type that its use suggests.
  PlaceId path(Cursor& line, TypeKind suggested);
  /// A path whose last step is of `type` from now on.
  PlaceId declare_path(Cursor& line);
  /// "none" or a path.
  PlaceId target(Cursor& line, TypeKind suggested);
  ExprId expr(Cursor& line);
  Operand operand(Cursor& line, TypeKind suggested);

  /// The type of a part that no use has shown yet.
  void suggest(PlaceId place, TypeKind type);

 private:
  PlaceId prefix(Cursor& line, TypeKind suggested);
  PlaceId postfix(Cursor& line, PlaceId place);
  PlaceId primary(Cursor& line);
  PlaceId variable(Cursor& line);
  PlaceId field(Cursor& line, PlaceId base);
  PlaceId part(Place place);
  ExprId expression(Cursor& line, char open, char close);

  using Key = std::tuple<Place::Kind, std::string, std::string, std::uint32_t, PlaceId, ExprId>;
  static Key key(const Place& place);

  Function& function_;
  IntegerNames integers_;
  std::map<Key, PlaceId> places_;
  std::set<PlaceId> undecided_;                ///< met, and no type suggested yet
  std::map<std::string, PlaceId> parameters_;  ///< the first one of each name
  std::uint32_t depth_ = 0;
};

}  // namespace streamsan::analyzer::ir

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths, expressions and operands of the text form, written: the other side of parse_places.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ir/ir.h"
#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {

class PlaceWriter {
 public:
  explicit PlaceWriter(const Function& function);

  /// The text of a declaration. A parameter whose number is its place in the list needs no number.
  static std::string parameter(const Place& place);
  std::string declared(PlaceId id);
  const std::string& path(PlaceId id);
  std::string target(PlaceId id) { return id == kNoPlace ? "none" : path(id); }
  std::string operand(const Operand& operand);
  std::string braced(ExprId id) { return expr(id, '{', '}'); }

 private:
  static std::string plain(const Place& place);
  /// Without the sigil: `i#2`, `p@0`.
  std::string root_name(const Place& place) const;
  /// A base in front of `.` or `[`.
  std::string base(PlaceId id);
  std::string spell(const Place& place);
  std::string expr(ExprId id, char open, char close);

  const Function& function_;
  IntegerNames integers_;
  std::map<std::string, int> plain_names_;  ///< how many variables need more than their name
  std::vector<std::string> paths_;
  std::map<std::string, PlaceId> spelled_;
};

}  // namespace streamsan::analyzer::ir

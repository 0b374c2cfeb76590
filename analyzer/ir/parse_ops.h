// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops and sites of the text form, read into a Function.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "analyzer/ir/cursor.h"
#include "analyzer/ir/ir.h"
#include "analyzer/ir/parse_places.h"

namespace streamsan::analyzer::ir {

class OpReader {
 public:
  OpReader(Function& function, PlaceReader& places) : function_(function), places_(places) {}

  /// `number`: of the line, for an op that has no site.
  Op op(Cursor& line, std::uint32_t number);
  SiteId site(Cursor& line, std::uint32_t depth = 0);

 private:
  void operand(Cursor& line, Op& op, char position);
  void call(Cursor& line, Op& op);
  void arguments(Cursor& line, Op& op);
  void attribute(Cursor& line, Op& op);
  void access(Cursor& line, Op& op, Mode mode);
  static Part part(Cursor& line, Part::Kind kind);
  /// Ops at one place have one site.
  SiteId intern(Site at);

  using SiteKey =
      std::tuple<std::string, std::uint32_t, std::uint32_t, std::string, Site::Kind, std::string, bool, Api, SiteId>;

  Function& function_;
  PlaceReader& places_;
  std::map<SiteKey, SiteId> sites_;
};

}  // namespace streamsan::analyzer::ir

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's own accesses of memory; see host_touches.cpp.
#pragma once

#include "analyzer/ir/ir.h"

namespace clang {
class Expr;
}

namespace streamsan::analyzer::host {

class FunctionBuilder;
class Numbers;
class Places;
class Values;
struct Parts;
struct Unit;

class Touches {
 public:
  explicit Touches(const Parts& parts);

  void touch(ir::PlaceId place, ir::Mode mode, const clang::Expr& where);
  void touch_read(const clang::Expr& lvalue, const clang::Expr& where);

 private:
  void ask_flag(const clang::Expr& flag, const clang::Expr& where);
  [[nodiscard]] bool worth_a_touch(ir::PlaceId place) const;

  Unit& unit_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
};

}  // namespace streamsan::analyzer::host

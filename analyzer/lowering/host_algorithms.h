// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Algorithms that move the elements of a container, or write others there; see host_algorithms.cpp.
#pragma once

#include <optional>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"
#include "clang/AST/Type.h"

namespace streamsan::analyzer::host {

class Assignments;
class FunctionBuilder;
class Numbers;
class Places;
class Sequences;
class Values;
struct Parts;
struct Unit;

class Algorithms {
 public:
  explicit Algorithms(const Parts& parts);

  /// Lowers the call if it is known which element is where afterwards, and says if it was.
  bool moves_elements(const Call& call);
  /// Behind a call that writes what its model's roles say: the elements that are written there are not known any more.
  void forget_written(const Call& call);
  /// std::back_inserter() and its kin: the container grows from now on, by whoever has the iterator.
  void hand_out(const Call& call);

 private:
  /// Where an iterator or a pointer stands: in `container`, at `index`.
  struct Spot {
    ir::PlaceId container = ir::kNoPlace;
    ir::ExprId index = ir::kNoExpr;  ///< kNoExpr: at its first element
    clang::QualType element;
  };
  [[nodiscard]] std::optional<Spot> spot(const clang::Expr* iterator);
  [[nodiscard]] std::optional<std::int64_t> index(const Spot& spot) const;
  /// How many elements [first, last) has, if that is the whole of an array of few; else absent.
  [[nodiscard]] std::optional<std::int64_t> whole(const Call& call, const Spot& first, int last);
  ir::PlaceId element(const Spot& spot, std::int64_t at);
  /// What stands where the iterator stands.
  ir::PlaceId pointed(const Spot& spot);
  void reverse(const Spot& in, std::int64_t first, std::int64_t last, ir::SiteId site);
  bool swaps(const Call& call);
  bool turns(const Call& call, bool rotates);
  void forget(const clang::Expr* range, ir::SiteId site);

  Unit& unit_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  Sequences& sequences_;
};

}  // namespace streamsan::analyzer::host

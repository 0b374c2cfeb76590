// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A macro like PyTorch's AT_DISPATCH_FLOATING_TYPES puts a launch into a lambda in a lambda, each called where it
// stands. Checks that look at one function without following its calls would see neither the launch nor whose memory it
// is given: the closure holds references, which are dereferenced inside.
#include "analyzer/ir/lambdas.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/ir/inline.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

/// The variable whose address is all that `pointer` ever holds, or another that it is copied from.
PlaceId pointed_to(const Function& function, PlaceId pointer) {
  constexpr int kMostCopies = 8;  // one for each lambda in a lambda
  for (int copies = 0; copies < kMostCopies; ++copies) {
    const Op* only = only_store(function, pointer);
    if (only == nullptr || only->kind != OpKind::Assign || only->source.offset != kNoExpr) return kNoPlace;
    if (only->source.kind == Operand::Kind::Address) return only->source.place;
    if (only->source.kind != Operand::Kind::Value) return kNoPlace;
    pointer = only->source.place;
  }
  return kNoPlace;
}

/// `*p`, where all that `p` ever holds is the address of `x`, becomes `x`.
void see_through_references(Function& function) {
  std::vector<PlaceId> meant;
  const std::size_t count = function.places.size();
  for (std::size_t id = 0; id < count; ++id) {
    Place place = function.places[id];
    if (place.base != kNoPlace && static_cast<std::size_t>(place.base) < meant.size())
      place.base = meant[static_cast<std::size_t>(place.base)];
    PlaceId is = place.base == kNoPlace ? PlaceId{static_cast<std::uint32_t>(id)} : function.add(place);
    if (place.kind == Place::Kind::Deref) {
      const PlaceId at = pointed_to(function, function.places[id].base);
      if (at != kNoPlace) is = at;
    }
    meant.push_back(is);
  }
  for (Block& block : function.blocks)
    for (Op& op : block.ops)
      for_each_operand(op, [&](Operand& operand) {
        if (operand.place != kNoPlace && static_cast<std::size_t>(operand.place) < count)
          operand.place = meant[static_cast<std::size_t>(operand.place)];
      });
}

}  // namespace

bool calls_lambda(const Program& program, const Op& op) {
  if (op.kind != OpKind::Call) return false;
  const auto found = program.functions.find(op.callee);
  return found != program.functions.end() && found->second.name == kLambda;
}

std::optional<Function> with_lambdas(const Program& program, const std::string& usr) {
  const Function& function = program.functions.at(usr);
  const bool has_some = std::ranges::any_of(function.blocks, [&](const Block& block) {
    return std::ranges::any_of(block.ops, [&](const Op& op) { return calls_lambda(program, op); });
  });
  if (!has_some) return std::nullopt;
  Function result = close(program, usr, {.only_lambdas = true});
  see_through_references(result);
  return result;
}

}  // namespace streamsan::analyzer::ir

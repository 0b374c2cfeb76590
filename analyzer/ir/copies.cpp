// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See copies.h. Parts are fields, and fields of these; elements of arrays are left out, since what an index is worth is
// not the same at both ends.
#include "analyzer/ir/copies.h"

#include <set>
#include <utility>
#include <vector>

namespace streamsan::analyzer::ir {

void complete_copies(Function& function) {
  // Lists with parts that have lists: what is added past this is of no use to anybody.
  constexpr std::size_t kMostAdded = 2000;
  const std::size_t most = function.places.size() + kMostAdded;
  std::vector<std::pair<PlaceId, PlaceId>> copies;  // target, source
  const auto is_object = [&](PlaceId place) { return place != kNoPlace && function[place].type == TypeKind::Object; };
  for (const Block& block : function.blocks)
    for (const Op& op : block.ops)
      if (op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Value && is_object(op.target) &&
          is_object(op.source.place) && op.target != op.source.place)
        copies.emplace_back(op.target, op.source.place);
  std::set<std::pair<PlaceId, PlaceId>> known(copies.begin(), copies.end());
  copies.assign(known.begin(), known.end());
  for (bool added = !copies.empty(); added;) {
    added = false;
    std::vector<std::vector<PlaceId>> fields(function.places.size());
    for (std::size_t id = 0; id < function.places.size(); ++id) {
      const Place& place = function.places[id];
      if (place.kind == Place::Kind::Field)
        fields[static_cast<std::size_t>(place.base)].push_back(PlaceId{static_cast<std::uint32_t>(id)});
    }
    for (std::size_t i = 0; i < copies.size() && function.places.size() < most; ++i) {
      const auto [target, source] = copies[i];
      if (static_cast<std::size_t>(source) >= fields.size()) continue;
      for (const PlaceId from : fields[static_cast<std::size_t>(source)]) {
        Place part = function[from];
        part.base = target;
        const std::size_t before = function.places.size();
        const PlaceId to = function.add(std::move(part));
        added = added || function.places.size() != before;
        if (is_object(to) && known.emplace(to, from).second) copies.emplace_back(to, from);
      }
    }
    if (function.places.size() >= most) return;
  }
}

}  // namespace streamsan::analyzer::ir

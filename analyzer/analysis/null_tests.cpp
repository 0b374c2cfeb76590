// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches that ask whether a pointer, a stream or an event is null.
//
//   float*& slot = scratch_[size];
//   if (slot == nullptr) cudaMalloc(&slot, size);
//
// For a pointer that was just set to null, or just given memory, the answer is known. For a slot that existed before
// the function was entered it is not. But if the branch for null only fills the slot, the calls of interest are those
// that find it filled: two of them use the same memory, and the first call differs from them only in the allocation. So
// the slot is assumed to be filled. It may be filled from a variable, and the path that finds it filled may return
// first:
//
//   if (slot != nullptr) return slot;
//   cudaMalloc(&made, size);
//   return slot = made;
#include "analyzer/analysis/null_tests.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::OpKind;

/// The expression is a path and nothing else. Its spelling is no help: an inlined callee has the text of its source.
bool is_path(std::string_view text) {
  if (text.empty() || text.front() == '!' || text.front() == '-' || text.front() == '~') return false;
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth == 0 && (c == ' ' || c == '?' || c == '+')) return false;
  }
  return true;
}

/// For a condition that reads one pointer: the successor for a null pointer; 2: it tests something else.
std::size_t null_successor(std::string_view text) {
  static constexpr std::array<std::string_view, 4> kNull = {"nullptr", "NULL", "0", "__null"};
  for (const std::string_view null : kNull)
    for (const std::size_t unequal : {0U, 1U}) {
      const std::string compared = unequal != 0 ? " != " : " == ";
      const std::string behind = compared + std::string(null), before = std::string(null) + compared;
      if (text.ends_with(behind) && is_path(text.substr(0, text.size() - behind.size()))) return unequal;
      if (text.starts_with(before) && is_path(text.substr(before.size()))) return unequal;
    }
  if (text.starts_with('!') && is_path(text.substr(1))) return 0;
  return is_path(text) ? 1 : 2;
}

/// What a free list gives out is a block.
bool comes_from_pool(const Values& values, const Value& held) {
  if (held.location == kNowhere || values[held.location].kind != Location::Kind::Field) return false;
  const auto part = ir::hidden_part(values.field_name(held.location));
  return part && part->hidden == ir::Hidden::Next;
}

bool may_be_null(ir::TypeKind type) {
  return type == ir::TypeKind::Pointer || type == ir::TypeKind::Stream || type == ir::TypeKind::Event;
}

/// The origins of those ops of these blocks that are copies.
std::set<std::uint32_t> origins(const ir::Function& function, const std::vector<bool>& blocks) {
  std::set<std::uint32_t> result;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i])
      for (const ir::Op& op : function.blocks[i].ops)
        if (op.origin != ir::Op::kNoOrigin) result.insert(op.origin);
  return result;
}

/// The two are equal except for indices: an entry named by its key, and by an iterator.
bool alike(const ir::Function& function, ir::PlaceId a, ir::PlaceId b) {
  while (a != b) {
    const ir::Place &left = function[a], &right = function[b];
    if (left.kind != right.kind || left.base == ir::kNoPlace || right.base == ir::kNoPlace) return false;
    if (left.kind == ir::Place::Kind::Field && (left.name != right.name || left.owner != right.owner)) return false;
    a = left.base;
    b = right.base;
  }
  return true;
}

}  // namespace

NullTests::NullTests(const ir::Function& function) : function_(function), tests_(function.blocks.size()) {
  for (std::size_t i = 0; i < function.blocks.size(); ++i) {
    const ir::Block& block = function.blocks[i];
    if (block.condition == ir::kNoExpr || block.successors.size() != 2) continue;
    const ir::Expr& asked = function[block.condition];
    if (asked.uses.size() != 1 || !may_be_null(function[asked.uses[0]].type)) continue;
    const std::size_t null = null_successor(asked.text);
    if (null > 1 || block.successors[0] == block.successors[1]) continue;
    tests_[i] = {asked.uses[0], null, fills(i, block.successors[null], block.successors[1 - null], asked.uses[0])};
  }
}

bool NullTests::fills(std::size_t test, ir::BlockId from, ir::BlockId behind, ir::PlaceId pointer) const {
  const ir::Root root = ir::root(function_, pointer);
  if (root.place == ir::kNoPlace || (ir::is_own(function_[root.place]) && !root.through_pointer)) return false;
  std::vector<std::size_t> from_there;
  if (ir::at(behind) != test) from_there.push_back(ir::at(behind));
  const std::vector<bool> common =
      ir::reached(function_, std::move(from_there), [test](std::size_t, std::size_t to) { return to != test; });
  if (common[static_cast<std::size_t>(from)]) return false;
  constexpr std::size_t kMostBlocks = 16;
  std::vector<ir::BlockId> region{from};
  std::vector<ir::PlaceId> made;
  const std::set<std::uint32_t> joined = origins(function_, common);
  bool makes = false;
  for (std::size_t i = 0; i < region.size(); ++i) {
    const ir::Block& block = function_.blocks[static_cast<std::size_t>(region[i])];
    bool joins = false;
    for (const ir::Op& op : block.ops) {
      // Where paths are kept apart (ir/paths.h), the code behind the join has a copy for each.
      joins = joins || joined.contains(op.origin);
      if (joins) break;
      if (op.kind == OpKind::Allocate && !op.tensor) {
        makes = makes || op.target == pointer;
        if (op.stream.kind == ir::Operand::Kind::None) made.push_back(op.target);
      }
      // `cudaMalloc(&p, size); slots.emplace(key, p);`
      if (op.kind == OpKind::Assign && op.source.kind == ir::Operand::Kind::Value && !made.empty())
        makes =
            makes || (alike(function_, op.target, pointer) && std::ranges::find(made, op.source.place) != made.end());
      if (op.kind != OpKind::Allocate && op.kind != OpKind::Assign && op.kind != OpKind::Fresh) return false;
    }
    if (joins) continue;
    for (const ir::BlockId next : block.successors)
      if (!common[static_cast<std::size_t>(next)] && std::ranges::find(region, next) == region.end())
        region.push_back(next);
    if (region.size() > kMostBlocks) return false;
  }
  return makes;
}

bool NullTests::may_go(Values& values, const Store& store, std::uint32_t from, std::uint32_t to) const {
  const Test& test = tests_[from];
  if (test.pointer == ir::kNoPlace) return true;
  const ir::Block& block = function_.blocks[from];
  const bool to_null = static_cast<std::uint32_t>(block.successors[test.null]) == to;
  const Value& held = values[store.load(values, test.pointer)];
  switch (held.kind) {
    case Value::Kind::Null:
      return to_null;
    case Value::Kind::Object:
    case Value::Kind::Address:
      return !to_null;
    case Value::Kind::Content:
      return !to_null || !(test.fills || comes_from_pool(values, held));
    default:
      return true;
  }
}

}  // namespace streamsan::analyzer

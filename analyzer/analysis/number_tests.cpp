// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches that show the value of an integer.
//
//   if (used_ == 0) return;
//   launch(half_[0]);
//   used_ = 0;
//
// Behind the branch `used_` is 0 on both paths, but on one of them it was only tested. Two values that are joined get a
// new name, of which nothing is known. So before the join, the tested path gets the number that the other path holds.
// It gets it only then: until the join the integer keeps its name, because the names of other places may contain it.
#include "analyzer/analysis/number_tests.h"

#include <string>
#include <string_view>

#include "analyzer/ir/polynomial.h"
#include "analyzer/ir/words.h"

namespace streamsan::analyzer {
NumberTests::NumberTests(const ir::Function& function)
    : function_(function), tests_(function.blocks.size()), only_before_(function.blocks.size()) {
  std::vector<std::vector<std::uint32_t>> before(function.blocks.size());
  for (std::uint32_t i = 0; i < function.blocks.size(); ++i) {
    const ir::Block& block = function.blocks[i];
    for (const ir::BlockId next : block.successors) before[static_cast<std::size_t>(next)].push_back(i);
    if (block.condition == ir::kNoExpr || block.successors.size() != 2 || block.successors[0] == block.successors[1])
      continue;
    const ir::Expr& asked = function[block.condition];
    if (asked.uses.size() != 1 || function[asked.uses[0]].type != ir::TypeKind::Integer) continue;
    const std::string text = ir::numbered(function, asked);
    const std::string_view rest = text;
    std::optional<std::int64_t> number;
    std::size_t equal = 0;
    if (rest.starts_with("$0 == ")) number = ir::literal(rest.substr(6));
    if (rest.starts_with("$0 != ")) number = ir::literal(rest.substr(6)), equal = 1;
    if (rest.ends_with(" == $0")) number = ir::literal(rest.substr(0, rest.size() - 6));
    if (rest.ends_with(" != $0")) number = ir::literal(rest.substr(0, rest.size() - 6)), equal = 1;
    if (rest == "!$0") number = 0;
    if (rest == "$0") number = 0, equal = 1;
    if (number && *number >= 0) tests_[i] = {asked.uses[0], *number, equal};
  }
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].size() == 1 && function.blocks[i].ops.empty()) only_before_[i] = before[i].front();
}

const NumberTests::Test* NumberTests::on_the_way(std::uint32_t from, std::uint32_t to) const {
  constexpr int kMostBlocks = 8;
  for (int i = 0; i < kMostBlocks; ++i) {
    const Test& test = tests_[from];
    const ir::Block& block = function_.blocks[from];
    if (test.place != ir::kNoPlace && static_cast<std::uint32_t>(block.successors[test.equal]) == to) return &test;
    if (!only_before_[from]) return nullptr;
    to = from;
    from = *only_before_[from];
  }
  return nullptr;
}

void NumberTests::settle(Values& values, std::uint32_t to, const std::vector<std::uint32_t>& before, Ends& ends) const {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Test* passed = on_the_way(before[i], to);
    if (passed == nullptr) continue;
    for (std::size_t other = 0; other < ends.size(); ++other) {
      const ValueId held = ends[other].load(values, passed->place);
      const Value& value = values[held];
      if (value.kind != Value::Kind::Constant || values[value.key].constant != passed->number) continue;
      ends.change(i).learn(values, passed->place, held);
      break;
    }
  }
}

}  // namespace streamsan::analyzer

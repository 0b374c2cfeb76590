// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/flow.h"

#include <algorithm>

namespace streamsan::ptx {

Flow::Flow(const Kernel& kernel) {
  const int count = static_cast<int>(kernel.instructions.size());
  std::vector<bool> leads(static_cast<std::size_t>(count) + 1);
  for (int i = 0; i < count; ++i) {
    const Instruction& instruction = kernel.instructions[static_cast<std::size_t>(i)];
    if (instruction.op != Op::Branch && instruction.op != Op::Exit) continue;
    leads[static_cast<std::size_t>(i) + 1] = true;
    if (instruction.op == Op::Branch && instruction.target >= 0)
      leads[static_cast<std::size_t>(instruction.target)] = true;
    if (instruction.op == Op::Branch && instruction.target < 0) tellable_ = false;
  }
  for (int i = 0; i < count; ++i) {
    if (i == 0 || leads[static_cast<std::size_t>(i)]) {
      if (!blocks_.empty()) blocks_.back().end = i;
      blocks_.push_back({.first = i});
    }
    block_of_.push_back(static_cast<int>(blocks_.size()) - 1);
  }
  if (!blocks_.empty()) blocks_.back().end = count;
  block_of_.push_back(static_cast<int>(blocks_.size()));
  blocks_.push_back({.first = count, .end = count});
  connect(kernel);
  find_meeting_points();
}

void Flow::connect(const Kernel& kernel) {
  const int end = static_cast<int>(blocks_.size()) - 1;
  for (int b = 0; b < end; ++b) {
    Block& block = blocks_[static_cast<std::size_t>(b)];
    const Instruction& last = kernel.instructions[static_cast<std::size_t>(block.end) - 1];
    if (last.op == Op::Branch && last.target >= 0)
      block.successors.push_back(block_of_[static_cast<std::size_t>(last.target)]);
    if (last.op == Op::Exit) block.successors.push_back(end);
    const bool falls_through = (last.op != Op::Branch && last.op != Op::Exit) || last.guard >= 0;
    if (falls_through && std::ranges::find(block.successors, b + 1) == block.successors.end())
      block.successors.push_back(b + 1);
  }
  for (int b = 0; b < end; ++b)
    for (const int successor : blocks_[static_cast<std::size_t>(b)].successors)
      blocks_[static_cast<std::size_t>(successor)].predecessors.push_back(b);
}

/// Without recursion.
void Flow::reach(int first, std::vector<int> Block::* next, std::vector<bool>& seen, std::vector<int>& out) const {
  std::vector<std::pair<int, std::size_t>> stack = {{first, 0}};
  seen[static_cast<std::size_t>(first)] = true;
  while (!stack.empty()) {
    auto& [block, at] = stack.back();
    const std::vector<int>& to = blocks_[static_cast<std::size_t>(block)].*next;
    if (at == to.size()) {
      out.push_back(block);
      stack.pop_back();
    } else if (const int found = to[at++]; !seen[static_cast<std::size_t>(found)]) {
      seen[static_cast<std::size_t>(found)] = true;
      stack.emplace_back(found, 0);
    }
  }
}

/// Kosaraju's two searches: what reaches a block, of those that the first search has left later than it.
std::vector<std::vector<int>> Flow::cycles() const {
  std::vector<int> order;
  std::vector<bool> seen(blocks_.size()), taken(blocks_.size());
  for (int block = 0; block < static_cast<int>(blocks_.size()); ++block)
    if (!seen[static_cast<std::size_t>(block)]) reach(block, &Block::successors, seen, order);
  std::vector<std::vector<int>> out;
  for (auto root = order.rbegin(); root != order.rend(); ++root) {
    if (taken[static_cast<std::size_t>(*root)]) continue;
    std::vector<int> together;
    reach(*root, &Block::predecessors, taken, together);
    const std::vector<int>& to = blocks_[static_cast<std::size_t>(*root)].successors;
    if (together.size() == 1 && std::ranges::find(to, *root) == to.end()) continue;
    std::vector<int>& cycle = out.emplace_back();
    for (const int block : together) {
      const Block& each = blocks_[static_cast<std::size_t>(block)];
      for (int i = each.first; i < each.end; ++i) cycle.push_back(i);
    }
  }
  return out;
}

void Flow::find_meeting_points() {
  // Postorder of the reversed graph from the end.
  const int end = static_cast<int>(blocks_.size()) - 1;
  std::vector<int> order, number(blocks_.size(), -1);
  std::vector<bool> seen(blocks_.size());
  reach(end, &Block::predecessors, seen, order);
  for (std::size_t i = 0; i < order.size(); ++i) number[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  const auto at = [&](int block) -> Block& { return blocks_[static_cast<std::size_t>(block)]; };
  const auto later = [&](int a, int b) {
    return number[static_cast<std::size_t>(a)] < number[static_cast<std::size_t>(b)];
  };
  at(end).meets = end;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = order.rbegin(); block != order.rend(); ++block) {
      if (*block == end) continue;
      int meets = kNowhere;
      for (int successor : at(*block).successors) {
        if (at(successor).meets == kNowhere) continue;
        if (meets == kNowhere) {
          meets = successor;
          continue;
        }
        int other = meets;
        while (successor != other) {
          while (later(successor, other)) successor = at(successor).meets;
          while (later(other, successor)) other = at(other).meets;
        }
        meets = other;
      }
      if (at(*block).meets != meets) {
        at(*block).meets = meets;
        changed = true;
      }
    }
  }
}

int Flow::meeting_point(int instruction) const {
  if (!tellable_) return kNowhere;
  const int meets = blocks_[static_cast<std::size_t>(block_of_[static_cast<std::size_t>(instruction)])].meets;
  return meets == kNowhere ? kNowhere : blocks_[static_cast<std::size_t>(meets)].first;
}

std::vector<int> Flow::between(int instruction) const {
  const int branch = block_of_[static_cast<std::size_t>(instruction)];
  const int meets = blocks_[static_cast<std::size_t>(branch)].meets;
  std::vector<bool> seen(blocks_.size());
  std::vector<int> work = blocks_[static_cast<std::size_t>(branch)].successors;
  std::vector<int> out;
  while (!work.empty()) {
    const int block = work.back();
    work.pop_back();
    if (block == meets || seen[static_cast<std::size_t>(block)]) continue;
    seen[static_cast<std::size_t>(block)] = true;
    for (int i = blocks_[static_cast<std::size_t>(block)].first; i < blocks_[static_cast<std::size_t>(block)].end; ++i)
      out.push_back(i);
    for (const int successor : blocks_[static_cast<std::size_t>(block)].successors) work.push_back(successor);
  }
  return out;
}

}  // namespace streamsan::ptx

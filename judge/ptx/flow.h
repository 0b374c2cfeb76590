// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control flow of a kernel, and where diverging paths meet again: the immediate post-dominators of Cooper, Harvey
// and Kennedy's iteration ("A Simple, Fast Dominance Algorithm"), on basic blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

class Flow {
 public:
  static constexpr int kNowhere = -1;

  explicit Flow(const Kernel& kernel);

  /// Index of the instruction all paths from the branch at `instruction` come through next; the number of instructions
  /// for the end of the kernel; kNowhere: some path never ends, or jumps to an unknown place.
  [[nodiscard]] int meeting_point(int instruction) const;
  /// The instructions that may run after the branch and before its meeting point; includes the branch itself if it is
  /// part of a loop that it may stay in.
  [[nodiscard]] std::vector<int> between(int instruction) const;
  /// False: some branch leads to an unknown place.
  [[nodiscard]] bool tellable() const { return tellable_; }
  /// The instructions of each loop, inner ones with the outermost: those that can be reached from one another.
  [[nodiscard]] std::vector<std::vector<int>> cycles() const;

 private:
  struct Block {
    int first = 0;
    int end = 0;                  ///< one behind the last
    std::vector<int> successors;  ///< the number of blocks: the end of the kernel
    std::vector<int> predecessors;
    int meets = kNowhere;
  };
  void connect(const Kernel& kernel);
  void find_meeting_points();
  /// The blocks that can be reached from `first` and were not `seen`, each behind all that can be reached from it.
  void reach(int first, std::vector<int> Block::* next, std::vector<bool>& seen, std::vector<int>& out) const;

  std::vector<Block> blocks_;  ///< and one more for the end
  std::vector<int> block_of_;
  bool tellable_ = true;
};

}  // namespace streamsan::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/waiting.h"

#include <algorithm>

#include "judge/ptx/flow.h"

namespace streamsan::ptx {
namespace {

/// Of any instruction: what a guarded move writes may decide a branch, and the guard is not among its operands.
bool depends_on_memory(const Instruction& instruction, const Facts& facts) {
  return instruction.guard >= 0 && facts.origins[static_cast<std::size_t>(instruction.guard)].loaded;
}

bool can_wait_in(const std::vector<int>& cycle, const Kernel& kernel, const Facts& facts) {
  bool decided = false, looks = false, loads = false, looks_again = false;
  for (const int at : cycle) {
    const Instruction& instruction = kernel.instructions[static_cast<std::size_t>(at)];
    if (instruction.op == Op::Other) return true;
    decided |= depends_on_memory(instruction, facts);
    looks_again |= instruction.renews;
    loads |= instruction.op == Op::SurfaceLoad;
    const bool reaches = may_be_global(instruction.space);
    if (!reaches) continue;
    looks |= instruction.op == Op::Atomic;
    if (instruction.op != Op::Load) continue;
    loads = true;
    looks |= instruction.strong || instruction.is_volatile || instruction.past_cache;
  }
  return decided && (looks || (loads && looks_again));
}

bool waits_for_others_in(const std::vector<int>& cycle, const Kernel& kernel, const Facts& facts) {
  bool decided = false, looks = false;
  for (const int at : cycle) {
    const Instruction& instruction = kernel.instructions[static_cast<std::size_t>(at)];
    decided |= depends_on_memory(instruction, facts);
    looks |= instruction.op == Op::Load && instruction.strong && instruction.of_system;
  }
  return decided && looks;
}

}  // namespace

Waiting waiting_of(const Kernel& kernel, const Facts& facts) {
  if (!kernel.understood) return {};
  const Flow flow(kernel);
  if (!flow.tellable()) return {};
  const auto calls = [](const Instruction& each) { return each.op == Op::Call && !is_harmless_call(each); };
  const auto cycles = flow.cycles();
  const auto any = [&](auto holds) {
    return std::ranges::any_of(cycles, [&](const std::vector<int>& cycle) { return holds(cycle, kernel, facts); });
  };
  const bool can_wait = std::ranges::any_of(kernel.instructions, calls) || any(can_wait_in);
  return {.can_wait = can_wait, .for_others = can_wait && any(waits_for_others_in)};
}

}  // namespace streamsan::ptx

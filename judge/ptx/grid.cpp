// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/grid.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "judge/ptx/facts.h"

namespace streamsan::ptx {
namespace {

/// What some path to a place has done. Where paths meet: what either of them has done.
enum Has : unsigned {
  kNotWaited = 1,
  kNotWaitedButMet = 2,  ///< and has passed a barrier
  kWaited = 4,
  kNotTriggered = 8,
  kTriggered = 16,
  kTouched = 32,    ///< memory, since the last fence
  kPublished = 64,  ///< touched memory before a fence
};

enum class Reach : std::uint8_t { None, Perhaps, Surely };

/// Does the instruction touch memory that other grids see?
Reach reach_of(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::Load:
    case Op::Store:
    case Op::Atomic:
    case Op::Reduce:
      return instruction.space == Space::Global    ? Reach::Surely
             : instruction.space == Space::Generic ? Reach::Perhaps
                                                   : Reach::None;
    case Op::AsyncCopy:
      return Reach::Surely;
    case Op::BulkCopy:
      return instruction.space == Space::Global || instruction.target_space == Space::Global ? Reach::Surely
                                                                                             : Reach::None;
    case Op::TextureLoad:
    case Op::SurfaceLoad:
    case Op::SurfaceStore:
    case Op::SurfaceReduce:
    case Op::Other:
      return Reach::Perhaps;
    default:
      return Reach::None;
  }
}

/// A function that may be anything. Those of the compiler's own mathematics are not, nor is what prints or sets the
/// condition of a conditional node.
bool is_unknown_call(const Instruction& instruction) {
  if (instruction.op != Op::Call || is_harmless_call(instruction)) return false;
  return std::ranges::none_of(instruction.operands, [](const Operand& operand) {
    const std::string_view name = operand.symbol;
    return operand.kind == Operand::Kind::Symbol && name.starts_with("__internal_");
  });
}

class Paths {
 public:
  explicit Paths(const Kernel& kernel) : kernel_(kernel), at_(kernel.instructions.size() + 1) {}

  /// `held_back`: at a barrier each thread waits for those that wait for the grid in front.
  void follow(bool held_back) {
    held_back_ = held_back;
    std::ranges::fill(at_, 0u);
    std::vector<std::size_t> open;
    const auto reach = [&](std::size_t to, unsigned has) {
      if ((at_[to] | has) == at_[to]) return;
      at_[to] |= has;
      if (to < kernel_.instructions.size()) open.push_back(to);
    };
    reach(0, kNotWaited | kNotTriggered);
    while (!open.empty()) {
      const std::size_t from = open.back();
      open.pop_back();
      const Instruction& instruction = kernel_.instructions[from];
      const unsigned has = behind(instruction, at_[from]);
      const bool leaves = instruction.op == Op::Branch || instruction.op == Op::Exit;
      if (instruction.op == Op::Exit) reach(kernel_.instructions.size(), has);
      if (instruction.op == Op::Branch) {
        if (instruction.target >= 0) reach(static_cast<std::size_t>(instruction.target), has);
        if (instruction.target < 0) tellable_ = false;
      }
      if (!leaves || instruction.guard >= 0) reach(from + 1, has);
    }
  }
  [[nodiscard]] unsigned at(std::size_t instruction) const { return at_[instruction]; }
  [[nodiscard]] unsigned at_end() const { return at_.back(); }
  /// False: a branch goes nobody knows where.
  [[nodiscard]] bool tellable() const { return tellable_; }

 private:
  [[nodiscard]] unsigned behind(const Instruction& instruction, unsigned has) const {
    const unsigned before = has;
    const unsigned not_waited = kNotWaited | kNotWaitedButMet;
    if (reach_of(instruction) != Reach::None) has |= kTouched;
    if (is_unknown_call(instruction)) return (has & ~not_waited) | kWaited | kTriggered | kTouched;
    switch (instruction.sync) {
      case Sync::None:
        break;
      case Sync::GridWait:
        has = (has & ~not_waited) | kWaited;
        break;
      case Sync::GridTrigger:
        has = (has & ~static_cast<unsigned>(kNotTriggered)) | kTriggered;
        break;
      case Sync::Barrier:
        if (held_back_ || (has & kWaited)) {
          has = (has & ~not_waited) | kWaited;
        } else if (has & kNotWaited) {
          has = (has & ~static_cast<unsigned>(kNotWaited)) | kNotWaitedButMet;
        }
        break;
      case Sync::Fence:
        if (has & kTouched) has = (has & ~static_cast<unsigned>(kTouched)) | kPublished;
        break;
    }
    return instruction.guard >= 0 ? before | has : has;
  }

  const Kernel& kernel_;
  std::vector<unsigned> at_;
  bool held_back_ = false;
  bool tellable_ = true;
};

ordering::Trigger trigger_of(const Kernel& kernel, const Paths& paths) {
  bool any = false, clean = true, published = false;
  Reach behind = Reach::None;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    const Instruction& instruction = kernel.instructions[i];
    if (is_unknown_call(instruction)) return ordering::Trigger::Unknown;
    if (instruction.sync == Sync::GridTrigger) {
      any = true;
      clean &= (paths.at(i) & kTouched) == 0;
      published |= (paths.at(i) & kPublished) != 0;
    }
    if (paths.at(i) & kTriggered) behind = std::max(behind, reach_of(instruction));
  }
  if (!any) return ordering::Trigger::Never;
  if (behind == Reach::Surely) return published ? ordering::Trigger::Unknown : ordering::Trigger::Early;
  if (behind == Reach::Perhaps) return ordering::Trigger::Unknown;
  return clean ? ordering::Trigger::Published : ordering::Trigger::Last;
}

}  // namespace

Grid grid_of(const Kernel& kernel) {
  Grid grid;
  const std::vector<Instruction>& instructions = kernel.instructions;
  const auto any = [&](const auto& condition) { return std::ranges::any_of(instructions, condition); };
  grid.waits = any([](const Instruction& i) { return i.sync == Sync::GridWait || is_unknown_call(i); });
  const bool may_trigger = any([](const Instruction& i) { return i.sync == Sync::GridTrigger || is_unknown_call(i); });
  grid.early.assign(instructions.size(), !grid.waits);
  if (!grid.waits && !may_trigger) return grid;

  Paths paths(kernel);
  paths.follow(false);
  if (paths.at_end() & kNotWaitedButMet && grid.waits) paths.follow(true);
  if (!paths.tellable()) {
    grid.waits = grid.waits_first = true;
    grid.early.assign(instructions.size(), false);
    grid.trigger = ordering::Trigger::Unknown;
    return grid;
  }
  if (grid.waits) {
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const unsigned has = paths.at(i);
      grid.early[i] = (has & (kNotWaited | kNotWaitedButMet)) != 0 && (has & kWaited) == 0;
    }
  }
  grid.trigger = trigger_of(kernel, paths);
  grid.always = (paths.at_end() & kNotTriggered) == 0;
  for (std::size_t i = 0; i < instructions.size(); ++i)
    grid.waits_first |= instructions[i].sync == Sync::GridTrigger && (paths.at(i) & kWaited) != 0;
  return grid;
}

}  // namespace streamsan::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/textures.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "judge/ptx/facts.h"

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

/// The instructions that may write each register.
class Writers {
 public:
  explicit Writers(const Kernel& kernel) : begins_(static_cast<std::size_t>(kernel.registers) + 1) {
    for_each(kernel, [&](std::size_t reg, std::uint32_t) { ++begins_[reg + 1]; });
    for (std::size_t reg = 1; reg < begins_.size(); ++reg) begins_[reg] += begins_[reg - 1];
    writers_.resize(begins_.back());
    std::vector<std::uint32_t> next = begins_;
    for_each(kernel, [&](std::size_t reg, std::uint32_t writer) { writers_[next[reg]++] = writer; });
  }

  /// Indices of instructions.
  [[nodiscard]] std::span<const std::uint32_t> of(int reg) const {
    const auto at = static_cast<std::size_t>(reg);
    return std::span(writers_).subspan(begins_[at], begins_[at + 1] - begins_[at]);
  }

 private:
  template <typename Visit>
  static void for_each(const Kernel& kernel, const Visit& visit) {
    for (std::uint32_t i = 0; i < kernel.instructions.size(); ++i)
      for_each_result(kernel.instructions[i], [&](int reg) { visit(static_cast<std::size_t>(reg), i); });
  }

  std::vector<std::uint32_t> begins_;  ///< in `writers_`, of each register; and where the last one's end
  std::vector<std::uint32_t> writers_;
};

/// The parameter words that a register may hold, unchanged.
class Sources {
 public:
  Sources(const Kernel& kernel, const Writers& writers, int reg) : kernel_(kernel), writers_(writers) {
    add(reg);
    // A list, no recursion: a program may move a value as often as it likes.
    while (all_known_ && !left_.empty()) {
      const int next = left_.back();
      left_.pop_back();
      const std::span<const std::uint32_t> from = writers_.of(next);
      all_known_ = !from.empty() &&
                   std::ranges::all_of(from, [&](std::uint32_t i) { return hands_on(kernel_.instructions[i], next); });
    }
  }

  /// False: it may hold something else, too.
  [[nodiscard]] bool all_known() const { return all_known_; }
  [[nodiscard]] const std::set<std::size_t>& words() const { return words_; }

 private:
  void add(int reg) {
    if (seen_.insert(reg).second) left_.push_back(reg);
  }
  bool add(const Operand& operand) {
    if (operand.kind != Kind::Register || operand.reg < 0) return false;
    add(operand.reg);
    return true;
  }

  bool hands_on(const Instruction& instruction, int reg) {
    const std::vector<Operand>& operands = instruction.operands;
    if (operands.size() < 2) return false;
    if (instruction.op == Op::Load) return add_parameter(instruction, reg);
    if (operands[0].kind != Kind::Register) return false;
    if (instruction.op == Op::Move || instruction.op == Op::ToSpace) return add(operands[1]);
    return instruction.op == Op::Select && operands.size() > 2 && add(operands[1]) && add(operands[2]);
  }

  /// What ld.param puts into the register, which may be one of several.
  bool add_parameter(const Instruction& load, int reg) {
    const Operand& result = load.operands[0];
    std::uint64_t element = 0;
    if (result.kind == Kind::List) {
      const auto found = std::ranges::find(result.elements, reg, &Operand::reg);
      if (found == result.elements.end()) return false;
      element = static_cast<std::uint64_t>(found - result.elements.begin());
    }
    const auto at = kernel_.place_in_parameters(load, element);
    if (!at || load.type.bits != kWordBytes * 8 || *at % kWordBytes != 0) return false;
    words_.insert(*at / kWordBytes);
    return true;
  }

  const Kernel& kernel_;
  const Writers& writers_;
  bool all_known_ = true;
  std::vector<int> left_;  ///< still to be followed
  std::set<int> seen_;
  std::set<std::size_t> words_;
};

/// The register that says through which object; -1: it is none, as it came.
int object_of(const Instruction& instruction) {
  const std::size_t at = texture_operand(instruction.op);
  if (at >= instruction.operands.size()) return -1;
  // The coordinates are elements of the operand.
  const Operand& operand = instruction.operands[at];
  const bool plain = operand.kind == Kind::Register || operand.kind == Kind::Memory;
  return plain && operand.immediate == 0 ? operand.reg : -1;
}

}  // namespace

Textures textures_of(const Kernel& kernel) {
  Textures out;
  if (std::ranges::none_of(kernel.instructions, is_of_texture, &Instruction::op)) return out;
  const Writers writers(kernel);
  std::map<int, Sources> followed;  // each register once, however many instructions are given it
  std::set<TextureUse> seen;
  for (const Instruction& instruction : kernel.instructions) {
    if (!is_of_texture(instruction.op)) continue;
    const int reg = object_of(instruction);
    const Sources* sources = reg < 0 ? nullptr : &followed.try_emplace(reg, kernel, writers, reg).first->second;
    if (!sources || !sources->all_known()) {
      out.all_known = false;
      continue;
    }
    for (const std::size_t word : sources->words()) {
      const TextureUse use{.word = word,
                           .surface = instruction.op != Op::TextureLoad,
                           .written = instruction.op == Op::SurfaceStore || instruction.op == Op::SurfaceReduce,
                           .chosen = sources->words().size() > 1};
      if (seen.insert(use).second) out.uses.push_back(use);
    }
  }
  return out;
}

}  // namespace streamsan::ptx

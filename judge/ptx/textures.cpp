// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/textures.h"

#include <algorithm>
#include <set>

#include "judge/ptx/facts.h"

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

/// The parameter words that a register may hold, unchanged.
class Sources {
 public:
  explicit Sources(const Kernel& kernel) : kernel_(kernel) {}

  /// False: it may hold something else, too.
  bool follow(const Operand& operand) {
    if (operand.kind != Kind::Register && operand.kind != Kind::Memory) return false;
    if (operand.reg < 0 || operand.immediate != 0) return false;
    if (!seen_.insert(operand.reg).second) return true;
    bool assigned = false;
    for (const Instruction& instruction : kernel_.instructions) {
      bool here = false;
      for_each_result(instruction, [&](int reg) { here |= reg == operand.reg; });
      if (!here) continue;
      assigned = true;
      if (!hands_on(instruction)) return false;
    }
    return assigned;
  }

  [[nodiscard]] const std::set<std::size_t>& words() const { return words_; }

 private:
  bool hands_on(const Instruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    if (operands.size() < 2 || operands[0].kind != Kind::Register) return false;
    switch (instruction.op) {
      case Op::Move:
      case Op::ToSpace:
        return follow(operands[1]);
      case Op::Select:
        return operands.size() > 2 && follow(operands[1]) && follow(operands[2]);
      case Op::Load: {
        const Operand& memory = operands[1];
        const Parameter* parameter = memory.reg < 0 ? kernel_.parameter(memory.symbol) : nullptr;
        if (instruction.space != Space::Param || !parameter || access_bytes(instruction) != kWordBytes ||
            memory.immediate < 0 || memory.immediate + std::int64_t{kWordBytes} > std::int64_t{parameter->bytes})
          return false;
        const std::uint64_t at = parameter->offset + static_cast<std::uint64_t>(memory.immediate);
        if (at % kWordBytes != 0) return false;
        words_.insert(at / kWordBytes);
        return true;
      }
      default:
        return false;
    }
  }

  const Kernel& kernel_;
  std::set<int> seen_;
  std::set<std::size_t> words_;
};

}  // namespace

Textures textures_of(const Kernel& kernel) {
  Textures out;
  for (const Instruction& instruction : kernel.instructions) {
    if (!is_of_texture(instruction.op)) continue;
    const std::size_t at = texture_operand(instruction.op);
    Sources sources(kernel);
    // The coordinates are elements of the operand.
    if (at >= instruction.operands.size() || !sources.follow(instruction.operands[at])) {
      out.all_known = false;
      continue;
    }
    for (const std::size_t word : sources.words()) {
      const TextureUse use{.word = word,
                           .surface = instruction.op != Op::TextureLoad,
                           .written = instruction.op == Op::SurfaceStore || instruction.op == Op::SurfaceReduce,
                           .chosen = sources.words().size() > 1};
      if (std::ranges::find(out.uses, use) == out.uses.end()) out.uses.push_back(use);
    }
  }
  return out;
}

}  // namespace streamsan::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/bases.h"

#include <cstdint>
#include <utility>

#include "judge/ptx/facts.h"

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

/// What a register holds: kUnset before it is known, kOwn if no base is in it, else the word.
constexpr int kUnset = -2, kOwn = -1;

class Bases {
 public:
  Bases(const Kernel& kernel, std::size_t words, int unused)
      : kernel_(kernel), unused_(unused), holds_(static_cast<std::size_t>(kernel.registers), kUnset), bases_(words) {
    for (const Instruction& instruction : kernel.instructions) offer(instruction);
    while (changed_) {
      changed_ = false;
      for (const Instruction& instruction : kernel.instructions) pass(instruction);
    }
  }

  std::vector<bool> take() { return std::move(bases_); }

 private:
  static bool is_parameter_load(const Instruction& instruction) {
    return instruction.op == Op::Load && instruction.space == Space::Param && instruction.operands.size() == 2;
  }

  /// The word that an element of ld.param reads whole; kOwn: none.
  [[nodiscard]] int word_of(const Instruction& instruction, std::size_t element) const {
    const Operand& memory = instruction.operands[1];
    const Parameter* parameter = memory.reg < 0 ? kernel_.parameter(memory.symbol) : nullptr;
    if (!parameter || memory.immediate < 0 || instruction.type.bits != 8 * kWordBytes) return kOwn;
    const std::uint64_t at =
        parameter->offset + static_cast<std::uint64_t>(memory.immediate) + element * kWordBytes;
    if (at % kWordBytes != 0 || at / kWordBytes >= bases_.size()) return kOwn;
    return static_cast<int>(at / kWordBytes);
  }

  /// At first every word that is read whole may be one.
  void offer(const Instruction& instruction) {
    if (!is_parameter_load(instruction)) return;
    const std::size_t values = instruction.operands[0].kind == Kind::List ? instruction.operands[0].elements.size() : 1;
    for (std::size_t i = 0; i < values; ++i)
      if (const int word = word_of(instruction, i); word >= 0 && !read_in_parts(word)) bases_[static_cast<std::size_t>(word)] = true;
  }

  [[nodiscard]] bool read_in_parts(int word) const {
    const std::uint64_t begin = static_cast<std::uint64_t>(word) * kWordBytes;
    for (const Instruction& each : kernel_.instructions) {
      if (!is_parameter_load(each) || each.type.bits == 8 * kWordBytes) continue;
      const Operand& memory = each.operands[1];
      const Parameter* parameter = kernel_.parameter(memory.symbol);
      if (!parameter) continue;
      const std::uint64_t at = parameter->offset + static_cast<std::uint64_t>(memory.immediate);
      if (at < begin + kWordBytes && at + access_bytes(each) > begin) return true;
    }
    return false;
  }

  /// What is in the register or number; a word that is no base any more is a number like others.
  [[nodiscard]] int held(const Operand& operand) const {
    if (operand.kind != Kind::Register || operand.reg == unused_) return kOwn;
    const int word = holds_[static_cast<std::size_t>(operand.reg)];
    return word >= 0 && !bases_[static_cast<std::size_t>(word)] ? kOwn : word;
  }

  void reject(int word) {
    if (word < 0 || !bases_[static_cast<std::size_t>(word)]) return;
    bases_[static_cast<std::size_t>(word)] = false;
    changed_ = true;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the operand is nested
  void reject_all(const Operand& operand) {
    reject(held(operand));
    for (const Operand& element : operand.elements) reject_all(element);
  }

  void put(const Operand& operand, int word) {
    if (operand.kind != Kind::Register || operand.reg == unused_ || word == kUnset) return;
    int& holds = holds_[static_cast<std::size_t>(operand.reg)];
    if (holds == word) return;
    if (holds == kUnset) {
      holds = word;
      changed_ = true;
      return;
    }
    reject(holds);
    reject(word);
  }

  void put_all(const Operand& result, int word) {
    if (result.kind != Kind::List) return put(result, word);
    for (const Operand& element : result.elements) put(element, word);
  }

  void pass(const Instruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    if (operands.empty()) return;
    if (is_parameter_load(instruction)) {
      const bool list = operands[0].kind == Kind::List;
      for (std::size_t i = 0; i < (list ? operands[0].elements.size() : 1); ++i)
        put(list ? operands[0].elements[i] : operands[0], usable(word_of(instruction, i)));
      return;
    }
    const bool computes = instruction.op > Op::None && instruction.op < Op::Load;
    if (computes) return put_all(operands[0], result_of(instruction));
    // The address of an access is what bases are for; whatever else an instruction is given is not followed.
    for (const Operand& operand : operands)
      if (operand.kind != Kind::Memory || !operand.elements.empty()) reject_all(operand);
    for_each_result(instruction, [&](int reg) { put({.kind = Kind::Register, .reg = reg}, kOwn); });
  }

  [[nodiscard]] int usable(int word) const {
    return word >= 0 && bases_[static_cast<std::size_t>(word)] ? word : kOwn;
  }

  int result_of(const Instruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    const auto operand = [&](std::size_t i) { return i < operands.size() ? held(operands[i]) : kOwn; };
    const bool whole = instruction.type.bits == 8 * kWordBytes;
    switch (instruction.op) {
      case Op::Move:
      case Op::ToSpace:
        if (operands.size() == 2 && operands[0].kind == Kind::Register && operands[1].kind == Kind::Register && whole)
          return operand(1);
        break;
      case Op::Add:
        if (whole && (operand(1) < 0 || operand(2) < 0)) return sum(operand(1), operand(2));
        break;
      case Op::Sub:
        if (whole && operand(2) < 0) return sum(operand(1), operand(2));
        break;
      case Op::Mad: {
        const bool wide = instruction.half == Half::Both ? instruction.type.bits == 32
                                                         : whole && instruction.half == Half::Low;
        if (wide && operand(1) < 0 && operand(2) < 0) return sum(operand(3), kOwn);
        break;
      }
      case Op::Select:
        if (operand(1) == operand(2)) return operand(1);
        break;
      default:
        break;
    }
    for (std::size_t i = 1; i < operands.size(); ++i) reject_all(operands[i]);
    return kOwn;
  }

  /// Of two of which one at most is a base. Nothing is said before both are known.
  static int sum(int a, int b) {
    if (a == kUnset || b == kUnset) return kUnset;
    return a >= 0 ? a : b;
  }

  const Kernel& kernel_;
  const int unused_;
  std::vector<int> holds_;  ///< by register
  std::vector<bool> bases_;
  bool changed_ = true;
};

}  // namespace

std::vector<bool> bases_of(const Kernel& kernel, std::size_t words, int unused) {
  return Bases(kernel, words, unused).take();
}

}  // namespace streamsan::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/bases.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "judge/ptx/facts.h"

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

/// What a register holds: kUnset before it is known, kOwn if no base is in it, else the word.
constexpr int kUnset = -2, kOwn = kNoBase;

class Search {
 public:
  Search(const Kernel& kernel, std::size_t words)
      : kernel_(kernel), holds_(static_cast<std::size_t>(kernel.registers), kUnset), bases_(words) {
    offer();
    while (changed_) {
      changed_ = false;
      for (const Instruction& instruction : kernel.instructions) pass(instruction);
    }
  }

  Bases take() {
    // A value that nothing is said of is unknown in every launch.
    for (int& word : holds_) word = std::max(still(word), kOwn);
    return {std::move(bases_), std::move(holds_)};
  }

 private:
  /// The word that an element of ld.param reads whole; kOwn: none.
  [[nodiscard]] int word_of(const Instruction& load, std::size_t element) const {
    const auto place = kernel_.place_in_parameters(load, element);
    if (!place || load.type.bits != 8 * kWordBytes || *place % kWordBytes != 0) return kOwn;
    return *place / kWordBytes < bases_.size() ? static_cast<int>(*place / kWordBytes) : kOwn;
  }

  /// At first every word may be one that is read whole, and never in parts.
  void offer() {
    std::vector<bool> in_parts(bases_.size());
    for (const Instruction& load : kernel_.instructions) {
      if (load.op != Op::Load || load.space != Space::Param || load.operands.empty()) continue;
      for (std::size_t i = 0; i < elements_of(load.operands[0]); ++i) {
        if (const int word = word_of(load, i); word >= 0) {
          bases_[static_cast<std::size_t>(word)] = true;
        } else if (const auto place = kernel_.place_in_parameters(load, i)) {
          const std::uint64_t end = *place + load.type.bits / 8;
          for (std::uint64_t at = *place; at < end && at / kWordBytes < in_parts.size(); ++at)
            in_parts[at / kWordBytes] = true;
        }
      }
    }
    for (std::size_t word = 0; word < bases_.size(); ++word)
      if (in_parts[word]) bases_[word] = false;
  }

  /// A word that is no base any more is a number like others.
  [[nodiscard]] int still(int word) const { return word >= 0 && !bases_[static_cast<std::size_t>(word)] ? kOwn : word; }

  [[nodiscard]] int held(const Operand& operand) const {
    return operand.kind == Kind::Register ? still(holds_[static_cast<std::size_t>(operand.reg)]) : kOwn;
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
    if (operand.kind != Kind::Register || word == kUnset) return;
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
    if (instruction.op == Op::Load && instruction.space == Space::Param) {
      const bool list = operands[0].kind == Kind::List;
      for (std::size_t i = 0; i < elements_of(operands[0]); ++i)
        put(list ? operands[0].elements[i] : operands[0], still(word_of(instruction, i)));
      return;
    }
    if (is_followed_arithmetic(instruction.op)) return put_all(operands[0], result_of(instruction));
    // A base that is stored, or handed to a function, decides about no bytes; as the size of a copy it does.
    if (instruction.op == Op::AsyncCopy || instruction.op == Op::BulkCopy)
      for (const Operand& operand : operands)
        if (operand.kind != Kind::Memory) reject_all(operand);
    for_each_result(instruction, [&](int reg) { put({.kind = Kind::Register, .reg = reg}, kOwn); });
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
        const bool wide =
            instruction.half == Half::Both ? instruction.type.bits == 32 : whole && instruction.half == Half::Low;
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
  std::vector<int> holds_;  ///< by register
  std::vector<bool> bases_;
  bool changed_ = true;
};

}  // namespace

Bases bases_of(const Kernel& slice, std::size_t words) { return Search(slice, words).take(); }

}  // namespace streamsan::ptx

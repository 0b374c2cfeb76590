// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/slice.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "judge/ptx/affine.h"

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

constexpr std::uint64_t kMostAddress = std::uint64_t{1} << 56;
/// Where the common launch has the base: far from the others, and from the ends of what an address can be.
constexpr std::uint64_t home_of(std::size_t word) { return (std::uint64_t{1} << 54) + (word << 40); }

/// Does it count by itself, whatever becomes of its results?
bool counts(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::Load:
    case Op::Store:
    case Op::Atomic:
    case Op::Reduce:
      // One that has no address makes the kernel one that is not understood (accesses.h).
      return may_be_global(instruction.space) || instruction.operands.size() < 2;
    case Op::None:
    case Op::Pure:
      return instruction.sync == Sync::GridWait || instruction.sync == Sync::GridTrigger;
    default:
      return !is_followed_arithmetic(instruction.op);
  }
}

class Slicer {
 public:
  explicit Slicer(const Kernel& kernel)
      : kernel_(kernel), kept_(kernel.instructions.size()), matters_(static_cast<std::size_t>(kernel.registers)) {
    for (std::size_t i = 0; i < kept_.size(); ++i)
      if (counts(kernel_.instructions[i])) keep(i);
    while (grown_) {
      grown_ = false;
      for (std::size_t i = kept_.size(); i-- > 0;)
        if (!kept_[i] && writes_what_matters(kernel_.instructions[i])) keep(i);
    }
  }

  Slice slice(const Facts& facts) {
    number();
    Kernel out{.name = kernel_.name,
               .parameters = kernel_.parameters,
               .instructions = {},
               .own_variables = kernel_.own_variables,
               .registers = names_in_use_,
               .understood = kernel_.understood};
    Facts of_out = facts;
    of_out.grid.early.clear();
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!kept_[i]) continue;
      out.instructions.push_back(renamed(kernel_.instructions[i]));
      of_out.grid.early.push_back(facts.grid.early[i]);
    }
    of_out.origins.assign(static_cast<std::size_t>(out.registers), Origin(facts.words.size()));
    for (std::size_t reg = 0; reg < matters_.size(); ++reg)
      if (matters_[reg]) of_out.origins[static_cast<std::size_t>(names_[reg])] = facts.origins[reg];
    std::vector<bool> reads = parameter_bytes(out);
    Bases bases = bases_of(out, facts.words.size());
    Flow flow(out);
    return {std::move(out), std::move(of_out), std::move(flow), std::move(reads), std::move(bases)};
  }

 private:
  void keep(std::size_t index) {
    const Instruction& instruction = kernel_.instructions[index];
    kept_[index] = true;
    if (instruction.guard >= 0) note(instruction.guard);
    const std::vector<Operand>& operands = instruction.operands;
    const bool is_copy = instruction.op == Op::AsyncCopy || instruction.op == Op::BulkCopy;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const bool source = is_followed_arithmetic(instruction.op) && i > 0;
      const bool address = operands[i].kind == Kind::Memory && counts(instruction);
      if (source || address || is_copy || instruction.op == Op::Other)
        for_each_register(operands[i], [&](int reg) { note(reg); });
    }
  }

  void note(int reg) {
    grown_ |= !matters_[static_cast<std::size_t>(reg)];
    matters_[static_cast<std::size_t>(reg)] = true;
  }

  [[nodiscard]] bool writes_what_matters(const Instruction& instruction) const {
    bool found = false;
    for_each_result(instruction, [&](int reg) { found |= matters_[static_cast<std::size_t>(reg)]; });
    return found;
  }

  void number() {
    for (const bool matters : matters_) names_.push_back(matters ? names_in_use_++ : -1);
    places_.push_back(0);
    for (const bool kept : kept_) places_.push_back(places_.back() + (kept ? 1 : 0));
  }

  [[nodiscard]] int name(int reg) const { return reg < 0 ? reg : names_[static_cast<std::size_t>(reg)]; }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the operand is nested
  void rename(Operand& operand) const {
    operand.reg = name(operand.reg);
    if (operand.kind == Kind::Register && operand.reg < 0) operand = {.kind = Kind::Opaque};
    for (Operand& element : operand.elements) rename(element);
  }

  [[nodiscard]] Instruction renamed(Instruction instruction) const {
    instruction.guard = name(instruction.guard);
    if (instruction.target >= 0) instruction.target = places_[static_cast<std::size_t>(instruction.target)];
    for (Operand& operand : instruction.operands) rename(operand);
    return instruction;
  }

  /// Bytes of the parameters that the slice looks at.
  static std::vector<bool> parameter_bytes(const Kernel& slice) {
    std::vector<bool> reads;
    for (const Instruction& load : slice.instructions) {
      for (std::size_t i = 0; !load.operands.empty() && i < elements_of(load.operands[0]); ++i) {
        const auto place = slice.place_in_parameters(load, i);
        if (!place) continue;
        const std::uint64_t end = *place + load.type.bits / 8;
        if (end > reads.size()) reads.resize(end);
        for (std::uint64_t at = *place; at < end; ++at) reads[at] = true;
      }
    }
    return reads;
  }

  const Kernel& kernel_;
  std::vector<bool> kept_;
  std::vector<bool> matters_;  ///< by register
  bool grown_ = true;
  std::vector<int> names_;   ///< of registers that matter
  std::vector<int> places_;  ///< by instruction and for the end: how many are kept before it
  int names_in_use_ = 0;
};

}  // namespace

std::optional<std::uint64_t> Slice::base(std::size_t word, std::span<const std::byte> arguments) const {
  if (word >= bases.words.size() || !bases.words[word]) return std::nullopt;
  const auto value = word_in(arguments, word);
  return value && *value >= kLeastAddress && *value < kMostAddress ? value : std::nullopt;
}

std::vector<std::byte> Slice::common(std::span<const std::byte> arguments) const {
  std::vector<std::byte> out(arguments.size());
  for (std::size_t at = 0; at < arguments.size() && at < reads.size(); ++at)
    if (reads[at]) out[at] = arguments[at];
  for (std::size_t word = 0; word < bases.words.size(); ++word) {
    if (!base(word, arguments)) continue;
    const std::uint64_t home = home_of(word);
    std::memcpy(out.data() + word * kWordBytes, &home, sizeof home);
  }
  return out;
}

std::optional<Piece> Slice::placed(const Touched& touched, std::span<const std::byte> arguments) const {
  Piece piece = touched.bytes;
  const auto word = static_cast<std::size_t>(touched.base);
  const auto to = touched.base >= 0 ? base(word, arguments) : std::nullopt;
  if (!to) return piece;
  piece.address += *to - home_of(word);
  const Wide end = Wide{piece.address} + piece.width + Wide{piece.pitch} * (piece.rows - 1) +
                   Wide{piece.slice_pitch} * (piece.slices - 1);
  return end <= kMostAddress ? std::optional(piece) : std::nullopt;
}

std::optional<Slice> slice_of(const Kernel& kernel, const Facts& facts) {
  if (!kernel.understood || !facts.known) return std::nullopt;
  return Slicer(kernel).slice(facts);
}

}  // namespace streamsan::ptx

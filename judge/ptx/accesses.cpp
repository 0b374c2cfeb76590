// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/accesses.h"

#include <utility>

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

constexpr Type kAddress{64, false, true};
constexpr Type kWord{32, false, true};

std::size_t fewest_operands(Op op) {
  switch (op) {
    case Op::Load:
    case Op::Store:
    case Op::Atomic:
    case Op::AsyncCopy:
    case Op::BulkCopy:
      return 2;
    case Op::Reduce:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

Accesses::Answer Accesses::note(const Threads& threads, Arithmetic& arithmetic, const Instruction& instruction,
                                bool perhaps) {
  const std::vector<Operand>& operands = instruction.operands;
  if (operands.size() < fewest_operands(instruction.op)) return Answer::Failed;
  const bool reaches = may_be_global(instruction.space);
  const auto bytes = access_bytes(instruction);
  const auto plain = [&](const Operand& memory, Mode mode) {
    return reaches ? add(threads, arithmetic, instruction, {memory, bytes, mode}, perhaps) : Answer::Noted;
  };
  switch (instruction.op) {
    case Op::Load:
      return plain(operands[1], instruction.strong ? Mode::Atomic : Mode::Read);
    case Op::Store:
      return plain(operands[0], instruction.strong ? Mode::Atomic : Mode::Write);
    case Op::Atomic:
      return plain(operands[1], Mode::Atomic);
    case Op::Reduce:
      return plain(operands[0], Mode::Atomic);
    case Op::AsyncCopy: {
      // [shared], [global], size {, bytes to read, the rest is zero}; a fourth operand may also be a cache policy.
      const bool whole = operands.size() == 3 && operands[2].kind == Kind::Immediate;
      const std::uint64_t size = whole ? static_cast<std::uint64_t>(operands[2].immediate) : 0;
      return add(threads, arithmetic, instruction, {operands[1], size, Mode::Read}, perhaps);
    }
    case Op::BulkCopy:
      return note_bulk_copy(threads, arithmetic, instruction, perhaps);
    case Op::Call:
      // It may wait, and other threads for this one at a barrier: nothing that comes after it is proved.
      return is_harmless_call(instruction) ? Answer::Noted : Answer::Failed;
    case Op::TextureLoad:
    case Op::SurfaceLoad:
    case Op::SurfaceStore:
    case Op::SurfaceReduce:
      complete_ = complete_ && facts_.textures.all_known;  // what is known of them is for the caller to add
      return Answer::Noted;
    case Op::Other:
      for (const Operand& operand : operands) doubt(operand, true);
      return Answer::Noted;
    default:
      return Answer::Noted;
  }
}

Accesses::Answer Accesses::note_bulk_copy(const Threads& threads, Arithmetic& arithmetic,
                                          const Instruction& instruction, bool perhaps) {
  const std::vector<Operand>& operands = instruction.operands;
  std::uint64_t size = 0;
  if (operands.size() > 2) {
    if (const auto found = arithmetic.single(registers_.read(threads, operands[2]), kWord))
      size = static_cast<std::uint64_t>(*found);
  }
  if (instruction.target_space == Space::Global) {
    const Mode mode = instruction.reduces ? Mode::Atomic : Mode::Write;
    return add(threads, arithmetic, instruction, {operands[0], size, mode}, perhaps);
  }
  if (instruction.space == Space::Global)
    return add(threads, arithmetic, instruction, {operands[1], size, Mode::Read}, perhaps);
  return Answer::Noted;
}

Accesses::Answer Accesses::add(const Threads& threads, Arithmetic& arithmetic, const Instruction& instruction,
                               const Access& access, bool perhaps) {
  const Operand& memory = access.memory;
  const Origin origin = facts_.origin(kernel_, memory);
  // A generic address that is made of a block's own variables only.
  if (instruction.space == Space::Generic && origin.own && !origin.symbol && !origin.loaded && !origin.any_word())
    return Answer::Noted;
  Value address = memory.reg >= 0 ? threads.registers[static_cast<std::size_t>(memory.reg)] : Value{};
  if (memory.reg >= 0 && memory.elements.empty()) address = arithmetic.add(address, constant(memory.immediate), 64);
  const auto where = arithmetic.exact(address, kAddress);
  if (arithmetic.cut) return Answer::Cut;
  const bool early = facts_.grid.early[static_cast<std::size_t>(&instruction - kernel_.instructions.data())];
  const int base = memory.reg >= 0 ? bases_.registers[static_cast<std::size_t>(memory.reg)] : kNoBase;
  if (where && access.bytes > 0 && !perhaps) {
    const bool added = sets_[{origin, access.mode, true, early, base}].add(*where, access.bytes, threads.box);
    return added ? Answer::Noted : Answer::Failed;
  }
  if (where && access.bytes > 0)
    sets_[{origin, access.mode, false, early, base}].add(*where, access.bytes, threads.box);
  doubt(memory, false);
  return Answer::Noted;
}

/// What may be reached through the operand is not known.
void Accesses::doubt(const Operand& operand, bool everything) {
  complete_ = false;
  const Origin origin = facts_.origin(kernel_, operand);
  const bool through_memory = everything || origin.loaded || origin.symbol;
  for (std::size_t word = 0; word < settled_.size(); ++word)
    if (origin.contains(word) || (through_memory && facts_.words[word].escapes)) settled_[word] = false;
}

bool Accesses::finish(Result& result, std::size_t most) {
  for (auto& [what, bytes] : sets_) {
    // An upper bound is a courtesy: without it the pointer is not settled, and that says it all.
    if (!bytes.compact(most)) {
      if (what.exact) return false;
      continue;
    }
    for (const Piece& piece : bytes.pieces())
      result.touched.push_back({piece, what.mode, what.exact, what.early, what.base});
  }
  result.evaluated = true;
  result.complete = complete_;
  result.settled = std::move(settled_);
  return true;
}

}  // namespace streamsan::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction that is being run, with its operands.
#pragma once

#include <cstring>

#include "analyzer/interpreter/decode.h"
#include "analyzer/interpreter/machine.h"
#include "analyzer/interpreter/values.h"
#include "llvm/IR/Instruction.h"

namespace streamsan::analyzer::interpreter {

struct Step {
  const Decoded& decoded;
  Frame& frame;
  Byte* result = decoded.place == kNoPlace ? nullptr : frame.slots + decoded.place;
  unsigned bits = decoded.bits;                   ///< bits of the first operand
  llvm::Type* type = decoded.written->getType();  ///< type of the result
  const char* fault = nullptr;                    ///< why the program cannot go on

  [[nodiscard]] const Byte* at(std::size_t i) const {
    const Operand& operand = decoded.operands[i];
    return operand.constant != nullptr ? operand.constant : frame.slots + operand.place;
  }
  /// An operand of eight bytes.
  [[nodiscard]] Word word(std::size_t i) const {
    Word value = 0;
    std::memcpy(&value, at(i), sizeof value);
    return value;
  }
  [[nodiscard]] Wide integer(std::size_t i) const { return get(at(i), bits); }
  [[nodiscard]] SignedWide signed_integer(std::size_t i) const { return get_signed(at(i), bits); }
  [[nodiscard]] llvm::Type* type_of(unsigned i) const { return decoded.written->getOperand(i)->getType(); }
  /// An operand that is an integer or a pointer, of any width.
  [[nodiscard]] Word number(unsigned i) const { return static_cast<Word>(get(at(i), bits_of(type_of(i)))); }
};

}  // namespace streamsan::analyzer::interpreter

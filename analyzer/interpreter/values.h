// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of IR as bytes: reading and writing integers of any width up to 128 bits, and floating point numbers.
#pragma once

#include <algorithm>
#include <cstring>

#include "analyzer/interpreter/memory.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Type.h"

namespace streamsan::analyzer::interpreter {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

/// The bits of an integer or a pointer. 0: the type is neither.
inline unsigned bits_of(llvm::Type* type) {
  if (type->isPointerTy()) return 64;
  return type->isIntegerTy() ? type->getIntegerBitWidth() : 0;
}

inline Wide get(const Byte* from, unsigned bits) {
  Wide value = 0;
  std::memcpy(&value, from, std::min<std::size_t>((bits + 7) / 8, sizeof value));
  return bits >= 128 ? value : value & ((Wide{1} << bits) - 1);
}
inline SignedWide get_signed(const Byte* from, unsigned bits) {
  const Wide value = get(from, bits);
  if (bits >= 128 || ((value >> (bits - 1)) & 1) == 0) return static_cast<SignedWide>(value);
  return static_cast<SignedWide>(value | ~((Wide{1} << bits) - 1));
}
inline void put(Byte* to, Wide value, unsigned bits) {
  if (bits < 128) value &= (Wide{1} << bits) - 1;
  std::memcpy(to, &value, std::min<std::size_t>((bits + 7) / 8, sizeof value));
}

inline long double get_float(const Byte* from, const llvm::Type* type) {
  if (type->isFloatTy()) {
    float value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  if (type->isDoubleTy()) {
    double value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  if (type->isX86_FP80Ty()) {
    long double value = 0;
    std::memcpy(&value, from, 10);
    return value;
  }
  return 0;
}
inline void put_float(Byte* to, long double value, const llvm::Type* type) {
  if (type->isFloatTy()) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(to, &narrow, sizeof narrow);
  } else if (type->isDoubleTy()) {
    const auto narrow = static_cast<double>(value);
    std::memcpy(to, &narrow, sizeof narrow);
  } else if (type->isX86_FP80Ty()) {
    std::memcpy(to, &value, 10);
  }
}

/// A type of floating point numbers that the interpreter computes with.
inline bool is_number(const llvm::Type* type) {
  return type->isFloatTy() || type->isDoubleTy() || type->isX86_FP80Ty();
}

/// Reads a word from memory that is known to be the program's.
inline Word load_word(Word address) {
  Word value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}
inline void store_word(Word address, Word value) {
  std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}

/// Stores the result of a call, if it is used.
inline void give(Byte* result, Word value) {
  if (result != nullptr) std::memcpy(result, &value, sizeof value);
}
inline void give32(Byte* result, std::uint32_t value) {
  if (result != nullptr) std::memcpy(result, &value, sizeof value);
}

}  // namespace streamsan::analyzer::interpreter

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that the compiler itself knows.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "analyzer/interpreter/decode.h"
#include "analyzer/interpreter/machine.h"
#include "analyzer/interpreter/values.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace streamsan::analyzer::interpreter {

Word Machine::of_thread(Word variable) {
  if (thread_->number == 0) return variable;
  const llvm::GlobalVariable* const global = image_.variable_at(variable);
  if (global == nullptr) return variable;
  const auto [own, fresh] = thread_locals_.try_emplace({thread_->number, variable}, 0);
  if (fresh) own->second = reinterpret_cast<Word>(image_.fresh(*global));
  return own->second;
}

void Machine::intrinsic(const llvm::Function& function, const Decoded& decoded, Frame& frame) {
  using llvm::Intrinsic::ID;
  const auto at = [&](std::size_t i) {
    const Operand& operand = decoded.operands[i];
    return operand.constant != nullptr ? operand.constant : frame.slots + operand.place;
  };
  const auto word = [&](std::size_t i) {
    return static_cast<Word>(get(at(i), bits_of(decoded.written->getOperand(static_cast<unsigned>(i))->getType())));
  };
  Byte* const result = decoded.place == kNoPlace ? nullptr : frame.slots + decoded.place;
  const unsigned bits = decoded.bits;
  llvm::Type* const type = decoded.written->getType();
  const auto real = [&](std::size_t i) { return get_float(at(i), type); };
  if (result != nullptr && type->isVectorTy()) return stop("arithmetic of a kind that is not known");
  switch (function.getIntrinsicID()) {
    case llvm::Intrinsic::memcpy:
    case llvm::Intrinsic::memmove:
      copy(word(0), word(1), word(2));
      break;
    case llvm::Intrinsic::memset:
      fill(word(0), static_cast<int>(word(1)), word(2));
      break;
    case llvm::Intrinsic::uadd_with_overflow:
    case llvm::Intrinsic::usub_with_overflow:
    case llvm::Intrinsic::umul_with_overflow: {
      const Wide a = get(at(0), bits), b = get(at(1), bits);
      const ID id = function.getIntrinsicID();
      const Wide value = id == llvm::Intrinsic::uadd_with_overflow   ? a + b
                         : id == llvm::Intrinsic::usub_with_overflow ? a - b
                                                                     : a * b;
      put(result, value, bits);
      result[(bits + 7) / 8] = bits < 128 && (value >> bits) != 0 ? 1 : 0;
      break;
    }
    case llvm::Intrinsic::sadd_with_overflow:
    case llvm::Intrinsic::ssub_with_overflow:
    case llvm::Intrinsic::smul_with_overflow: {
      const SignedWide a = get_signed(at(0), bits), b = get_signed(at(1), bits);
      const ID id = function.getIntrinsicID();
      const SignedWide value = id == llvm::Intrinsic::sadd_with_overflow   ? a + b
                               : id == llvm::Intrinsic::ssub_with_overflow ? a - b
                                                                           : a * b;
      put(result, static_cast<Wide>(value), bits);
      result[(bits + 7) / 8] = get_signed(result, bits) != value ? 1 : 0;
      break;
    }
    case llvm::Intrinsic::umax:
      put(result, std::max(get(at(0), bits), get(at(1), bits)), bits);
      break;
    case llvm::Intrinsic::umin:
      put(result, std::min(get(at(0), bits), get(at(1), bits)), bits);
      break;
    case llvm::Intrinsic::smax:
      put(result, static_cast<Wide>(std::max(get_signed(at(0), bits), get_signed(at(1), bits))), bits);
      break;
    case llvm::Intrinsic::smin:
      put(result, static_cast<Wide>(std::min(get_signed(at(0), bits), get_signed(at(1), bits))), bits);
      break;
    case llvm::Intrinsic::abs: {
      const SignedWide a = get_signed(at(0), bits);
      put(result, static_cast<Wide>(a < 0 ? -a : a), bits);
      break;
    }
    case llvm::Intrinsic::ctpop:
      put(result, static_cast<Wide>(__builtin_popcountll(word(0))), bits);
      break;
    case llvm::Intrinsic::ctlz:
      put(result, word(0) == 0 ? bits : static_cast<unsigned>(__builtin_clzll(word(0))) - (64 - bits), bits);
      break;
    case llvm::Intrinsic::cttz:
      put(result, word(0) == 0 ? bits : static_cast<unsigned>(__builtin_ctzll(word(0))), bits);
      break;
    case llvm::Intrinsic::bswap: {
      Word value = __builtin_bswap64(word(0));
      put(result, value >> (64 - bits), bits);
      break;
    }
    case llvm::Intrinsic::fshl: {
      const unsigned by = static_cast<unsigned>(word(2)) % bits;
      put(result, by == 0 ? get(at(0), bits) : (get(at(0), bits) << by) | (get(at(1), bits) >> (bits - by)), bits);
      break;
    }
    case llvm::Intrinsic::expect:
    case llvm::Intrinsic::launder_invariant_group:
    case llvm::Intrinsic::strip_invariant_group:
      std::memmove(result, at(0), decoded.size);
      break;
    case llvm::Intrinsic::threadlocal_address: {
      const Word own = of_thread(load_word(reinterpret_cast<Word>(at(0))));
      std::memcpy(result, &own, sizeof own);
      break;
    }
    case llvm::Intrinsic::fabs:
      put_float(result, std::fabs(real(0)), type);
      break;
    case llvm::Intrinsic::sqrt:
      put_float(result, std::sqrt(real(0)), type);
      break;
    case llvm::Intrinsic::floor:
      put_float(result, std::floor(real(0)), type);
      break;
    case llvm::Intrinsic::ceil:
      put_float(result, std::ceil(real(0)), type);
      break;
    case llvm::Intrinsic::trunc:
      put_float(result, std::trunc(real(0)), type);
      break;
    case llvm::Intrinsic::round:
      put_float(result, std::round(real(0)), type);
      break;
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
      put_float(result, std::rint(real(0)), type);
      break;
    case llvm::Intrinsic::sin:
      put_float(result, std::sin(real(0)), type);
      break;
    case llvm::Intrinsic::cos:
      put_float(result, std::cos(real(0)), type);
      break;
    case llvm::Intrinsic::exp:
      put_float(result, std::exp(real(0)), type);
      break;
    case llvm::Intrinsic::exp2:
      put_float(result, std::exp2(real(0)), type);
      break;
    case llvm::Intrinsic::log:
      put_float(result, std::log(real(0)), type);
      break;
    case llvm::Intrinsic::log2:
      put_float(result, std::log2(real(0)), type);
      break;
    case llvm::Intrinsic::log10:
      put_float(result, std::log10(real(0)), type);
      break;
    case llvm::Intrinsic::pow:
      put_float(result, std::pow(real(0), real(1)), type);
      break;
    case llvm::Intrinsic::copysign:
      put_float(result, std::copysign(real(0), real(1)), type);
      break;
    case llvm::Intrinsic::maxnum:
      put_float(result, std::fmax(real(0), real(1)), type);
      break;
    case llvm::Intrinsic::minnum:
      put_float(result, std::fmin(real(0), real(1)), type);
      break;
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
      put_float(result, real(0) * real(1) + real(2), type);
      break;
    case llvm::Intrinsic::is_constant:
      put(result, 0, 1);
      break;
    case llvm::Intrinsic::objectsize:
      put(result, ~Wide{0}, bits_of(type));
      break;
    case llvm::Intrinsic::stacksave: {
      const Word top = reinterpret_cast<Word>(thread_->top);
      std::memcpy(result, &top, sizeof top);
      break;
    }
    case llvm::Intrinsic::stackrestore: {
      const Word top = word(0);
      if (memory_.contains(top, 1)) thread_->top = reinterpret_cast<Byte*>(top);
      break;
    }
    case llvm::Intrinsic::eh_typeid_for: {
      put(result, static_cast<Wide>(selector(word(0))), 32);
      break;
    }
    case llvm::Intrinsic::trap:
    case llvm::Intrinsic::ubsantrap:
      give_up("the program ends itself");
      break;
    default:
      if (result != nullptr) std::memset(result, 0, decoded.size);  // lifetime, assume, debug values, ...
  }
}

}  // namespace streamsan::analyzer::interpreter

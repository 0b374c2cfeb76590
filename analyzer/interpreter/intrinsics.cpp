// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that the compiler itself knows.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/interpreter/machine.h"
#include "analyzer/interpreter/step.h"
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

namespace {

using llvm::Intrinsic::ID;

/// False: the intrinsic is not about floating point numbers.
bool of_floats(ID id, const Step& step) {
  const auto real = [&step](std::size_t i) { return get_float(step.at(i), step.type); };
  const auto value = [&]() -> std::optional<long double> {
    switch (id) {
      case llvm::Intrinsic::fabs:
        return std::fabs(real(0));
      case llvm::Intrinsic::sqrt:
        return std::sqrt(real(0));
      case llvm::Intrinsic::floor:
        return std::floor(real(0));
      case llvm::Intrinsic::ceil:
        return std::ceil(real(0));
      case llvm::Intrinsic::trunc:
        return std::trunc(real(0));
      case llvm::Intrinsic::round:
        return std::round(real(0));
      case llvm::Intrinsic::rint:
      case llvm::Intrinsic::nearbyint:
        return std::rint(real(0));
      case llvm::Intrinsic::sin:
        return std::sin(real(0));
      case llvm::Intrinsic::cos:
        return std::cos(real(0));
      case llvm::Intrinsic::exp:
        return std::exp(real(0));
      case llvm::Intrinsic::exp2:
        return std::exp2(real(0));
      case llvm::Intrinsic::log:
        return std::log(real(0));
      case llvm::Intrinsic::log2:
        return std::log2(real(0));
      case llvm::Intrinsic::log10:
        return std::log10(real(0));
      case llvm::Intrinsic::pow:
        return std::pow(real(0), real(1));
      case llvm::Intrinsic::copysign:
        return std::copysign(real(0), real(1));
      case llvm::Intrinsic::maxnum:
        return std::fmax(real(0), real(1));
      case llvm::Intrinsic::minnum:
        return std::fmin(real(0), real(1));
      case llvm::Intrinsic::fma:
      case llvm::Intrinsic::fmuladd:
        return real(0) * real(1) + real(2);
      default:
        return std::nullopt;
    }
  }();
  if (value) put_float(step.result, *value, step.type);
  return value.has_value();
}

/// Intrinsics that return a result and whether it overflows. False: the intrinsic is not of these.
bool with_overflow(ID id, const Step& step) {
  const auto of_unsigned = [&](auto make) {
    const Wide value = make(step.integer(0), step.integer(1));
    put(step.result, value, step.bits);
    step.result[(step.bits + 7) / 8] = step.bits < 128 && (value >> step.bits) != 0 ? 1 : 0;
    return true;
  };
  const auto of_signed = [&](auto make) {
    const SignedWide value = make(step.signed_integer(0), step.signed_integer(1));
    put(step.result, static_cast<Wide>(value), step.bits);
    step.result[(step.bits + 7) / 8] = get_signed(step.result, step.bits) != value ? 1 : 0;
    return true;
  };
  switch (id) {
    case llvm::Intrinsic::uadd_with_overflow:
      return of_unsigned(std::plus());
    case llvm::Intrinsic::usub_with_overflow:
      return of_unsigned(std::minus());
    case llvm::Intrinsic::umul_with_overflow:
      return of_unsigned(std::multiplies());
    case llvm::Intrinsic::sadd_with_overflow:
      return of_signed(std::plus());
    case llvm::Intrinsic::ssub_with_overflow:
      return of_signed(std::minus());
    case llvm::Intrinsic::smul_with_overflow:
      return of_signed(std::multiplies());
    default:
      return false;
  }
}

/// Intrinsics that compute an integer from integers. False: the intrinsic is not of these.
bool of_integers(ID id, const Step& step) {
  const unsigned bits = step.bits;
  const auto value = [&]() -> std::optional<Wide> {
    switch (id) {
      case llvm::Intrinsic::umax:
        return std::max(step.integer(0), step.integer(1));
      case llvm::Intrinsic::umin:
        return std::min(step.integer(0), step.integer(1));
      case llvm::Intrinsic::smax:
        return static_cast<Wide>(std::max(step.signed_integer(0), step.signed_integer(1)));
      case llvm::Intrinsic::smin:
        return static_cast<Wide>(std::min(step.signed_integer(0), step.signed_integer(1)));
      case llvm::Intrinsic::abs: {
        const SignedWide a = step.signed_integer(0);
        return static_cast<Wide>(a < 0 ? -a : a);
      }
      case llvm::Intrinsic::ctpop:
        return static_cast<Wide>(__builtin_popcountll(step.number(0)));
      case llvm::Intrinsic::ctlz:
        return step.number(0) == 0 ? bits : static_cast<unsigned>(__builtin_clzll(step.number(0))) - (64 - bits);
      case llvm::Intrinsic::cttz:
        return step.number(0) == 0 ? bits : static_cast<unsigned>(__builtin_ctzll(step.number(0)));
      case llvm::Intrinsic::bswap:
        return __builtin_bswap64(step.number(0)) >> (64 - bits);
      case llvm::Intrinsic::fshl: {
        const unsigned by = static_cast<unsigned>(step.number(2)) % bits;
        return by == 0 ? step.integer(0) : (step.integer(0) << by) | (step.integer(1) >> (bits - by));
      }
      default:
        return std::nullopt;
    }
  }();
  if (value) put(step.result, *value, bits);
  return value.has_value();
}

}  // namespace

void Machine::intrinsic(const llvm::Function& function, const Decoded& decoded, Frame& frame) {
  const Step step{.decoded = decoded, .frame = frame};
  Byte* const result = step.result;
  if (result != nullptr && step.type->isVectorTy()) return stop("arithmetic of a kind that is not known");
  const ID id = function.getIntrinsicID();
  switch (id) {
    case llvm::Intrinsic::memcpy:
    case llvm::Intrinsic::memmove:
      copy(step.number(0), step.number(1), step.number(2));
      return;
    case llvm::Intrinsic::memset:
      fill(step.number(0), static_cast<int>(step.number(1)), step.number(2));
      return;
    case llvm::Intrinsic::expect:
    case llvm::Intrinsic::launder_invariant_group:
    case llvm::Intrinsic::strip_invariant_group:
      std::memmove(result, step.at(0), decoded.size);
      return;
    case llvm::Intrinsic::threadlocal_address: {
      const Word own = of_thread(load_word(reinterpret_cast<Word>(step.at(0))));
      std::memcpy(result, &own, sizeof own);
      return;
    }
    case llvm::Intrinsic::is_constant:
      return put(result, 0, 1);
    case llvm::Intrinsic::objectsize:
      return put(result, ~Wide{0}, bits_of(step.type));
    case llvm::Intrinsic::stacksave: {
      const Word top = reinterpret_cast<Word>(thread_->top);
      std::memcpy(result, &top, sizeof top);
      return;
    }
    case llvm::Intrinsic::stackrestore:
      if (const Word top = step.number(0); memory_.contains(top, 1)) thread_->top = reinterpret_cast<Byte*>(top);
      return;
    case llvm::Intrinsic::eh_typeid_for:
      return put(result, static_cast<Wide>(selector(step.number(0))), 32);
    case llvm::Intrinsic::trap:
    case llvm::Intrinsic::ubsantrap:
      return give_up("the program ends itself");
    default:
      if (result == nullptr || of_integers(id, step) || with_overflow(id, step) || of_floats(id, step)) return;
      std::memset(result, 0, decoded.size);  // assume, debug values, ...
  }
}

}  // namespace streamsan::analyzer::interpreter

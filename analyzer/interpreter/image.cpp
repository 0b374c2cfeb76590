// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables and constants get their memory when they are first asked for; see image.h.
#include "analyzer/interpreter/image.h"

#include <algorithm>
#include <cstring>

#include "analyzer/interpreter/values.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

namespace streamsan::analyzer::interpreter {

Image::Image(const llvm::Module& module, Memory& memory) : layout_(module.getDataLayout()), memory_(memory) {}

Byte* Image::fresh(const llvm::GlobalVariable& global) {
  // Variables of other files are zeros here, and larger than declared: libraries read their own objects.
  const std::size_t size =
      global.hasInitializer() ? layout_.getTypeAllocSize(global.getValueType()).getFixedValue() : 1024;
  Byte* const place = memory_.heap(std::max<std::size_t>(size, 1), 32);
  if (place == nullptr) {
    full_ = true;
    return memory_.stack(0);
  }
  // The value may contain the address of the variable itself.
  if (globals_.try_emplace(&global, place).second) variables_[reinterpret_cast<Word>(place)] = &global;
  if (global.hasInitializer()) {
    write_constant(*global.getInitializer(), place);
  } else if (global.getName().starts_with("_ZTI")) {
    outside_types_[reinterpret_cast<Word>(place)] = global.getName().str();
  }
  return place;
}

Byte* Image::variable(const llvm::GlobalVariable& global) {
  const auto known = globals_.find(&global);
  return known == globals_.end() ? fresh(global) : known->second;
}

const llvm::GlobalVariable* Image::variable_at(Word address) const {
  const auto found = variables_.find(address);
  return found == variables_.end() ? nullptr : found->second;
}

Word Image::address_of(const llvm::Value& global) {
  if (const auto* variable_of = llvm::dyn_cast<llvm::GlobalVariable>(&global))
    return reinterpret_cast<Word>(variable(*variable_of));
  if (const auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(&global)) return address_of(*alias->getAliaseeObject());
  if (const auto known = globals_.find(&global); known != globals_.end()) return reinterpret_cast<Word>(known->second);
  Byte* const place = memory_.heap(16);
  if (place == nullptr) {
    full_ = true;
    return 0;
  }
  globals_[&global] = place;
  if (const auto* function = llvm::dyn_cast<llvm::Function>(&global))
    functions_[reinterpret_cast<Word>(place)] = function;
  return reinterpret_cast<Word>(place);
}

const llvm::Function* Image::function_at(Word address) const {
  const auto found = functions_.find(address);
  return found == functions_.end() ? nullptr : found->second;
}

void Image::write_constant(const llvm::Constant& value, Byte* to) {
  const std::size_t size = layout_.getTypeAllocSize(value.getType()).getFixedValue();
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(&value)) {
    std::memcpy(to, integer->getValue().getRawData(),
                std::min<std::size_t>(size, integer->getValue().getNumWords() * 8));
  } else if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(&value)) {
    const llvm::APInt bits = real->getValueAPF().bitcastToAPInt();
    std::memcpy(to, bits.getRawData(), std::min<std::size_t>(size, bits.getNumWords() * 8));
  } else if (llvm::isa<llvm::GlobalValue>(value)) {
    const Word address = address_of(value);
    std::memcpy(to, &address, sizeof address);
  } else if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(&value)) {
    const llvm::StringRef raw = data->getRawDataValues();
    std::memcpy(to, raw.data(), raw.size());
  } else if (const auto* parts = llvm::dyn_cast<llvm::ConstantStruct>(&value)) {
    const llvm::StructLayout* places = layout_.getStructLayout(parts->getType());
    for (unsigned i = 0; i < parts->getNumOperands(); ++i)
      write_constant(*parts->getOperand(i), to + places->getElementOffset(i).getFixedValue());
  } else if (llvm::isa<llvm::ConstantArray, llvm::ConstantVector>(value)) {
    const auto& list = llvm::cast<llvm::ConstantAggregate>(value);
    for (unsigned i = 0; i < list.getNumOperands(); ++i)
      write_constant(*list.getOperand(i),
                     to + i * layout_.getTypeAllocSize(list.getOperand(i)->getType()).getFixedValue());
  } else if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(&value)) {
    if (const auto* address = llvm::dyn_cast<llvm::GEPOperator>(expression)) {
      llvm::APInt offset(64, 0);
      address->accumulateConstantOffset(layout_, offset);
      Word base = 0;
      std::memcpy(&base, constant(*llvm::cast<llvm::Constant>(address->getPointerOperand())), sizeof base);
      base += offset.getZExtValue();
      std::memcpy(to, &base, sizeof base);
    } else if (expression->isCast()) {
      const Byte* inner = constant(*expression->getOperand(0));
      std::memcpy(
          to, inner,
          std::min<std::size_t>(size, layout_.getTypeAllocSize(expression->getOperand(0)->getType()).getFixedValue()));
    } else if (expression->getNumOperands() == 2) {
      const unsigned bits = bits_of(expression->getType());
      const Wide a = get(constant(*expression->getOperand(0)), bits),
                 b = get(constant(*expression->getOperand(1)), bits);
      put(to, expression->getOpcode() == llvm::Instruction::Sub ? a - b : a + b, bits);
    }
  }
}

const Byte* Image::constant(const llvm::Constant& value) {
  if (const auto known = constants_.find(&value); known != constants_.end()) return known->second;
  const std::size_t size = layout_.getTypeAllocSize(value.getType()).getFixedValue();
  Byte* const place = memory_.heap(std::max<std::size_t>(size, 16));
  if (place == nullptr) {
    full_ = true;
    return memory_.stack(0);
  }
  constants_[&value] = place;
  write_constant(value, place);
  return place;
}

const std::string* Image::outside_type(Word address) const {
  const auto found = outside_types_.find(address);
  return found == outside_types_.end() ? nullptr : &found->second;
}

Word Image::outside_type(const std::string& name) {
  for (const auto& [address, known] : outside_types_)
    if (known == name) return address;
  constexpr std::size_t kSize = 64;
  Byte* const place = memory_.heap(kSize);
  if (place != nullptr) outside_types_[reinterpret_cast<Word>(place)] = name;
  return reinterpret_cast<Word>(place);
}

}  // namespace streamsan::analyzer::interpreter

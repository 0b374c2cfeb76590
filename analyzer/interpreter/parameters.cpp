// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of the System V ABI, as far as integers and pointers go: an object of up to 16 bytes that can be copied
// byte by byte is passed in words, unless too few registers are left; other objects by their address.
#include "analyzer/interpreter/parameters.h"

#include <algorithm>
#include <cstring>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "llvm/IR/Function.h"

namespace streamsan::analyzer::interpreter {

std::vector<Parameter> parameters_of(const clang::FunctionDecl& declared, const llvm::Function& function,
                                     clang::ASTContext& context) {
  constexpr std::size_t kMostInWords = 16;
  std::vector<Parameter> result;
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&declared);
  std::size_t at = function.hasStructRetAttr() ? 1 : 0;
  if (method != nullptr && !method->isStatic()) ++at;
  for (const clang::ParmVarDecl* parameter : declared.parameters()) {
    const clang::QualType type = parameter->getType();
    Parameter one{.first = at, .size = sizeof(Word)};
    const clang::CXXRecordDecl* record = type->isReferenceType() ? nullptr : type->getAsCXXRecordDecl();
    if (!type->isReferenceType()) one.size = static_cast<std::size_t>(context.getTypeSizeInChars(type).getQuantity());
    const bool by_value = at < function.arg_size() && function.getArg(static_cast<unsigned>(at))->hasByValAttr();
    if (record != nullptr && record->hasDefinition() &&
        (by_value || !record->canPassInRegisters() || one.size > kMostInWords)) {
      one.how = Parameter::How::Address;
      ++at;
    } else if (record != nullptr && record->hasDefinition() && record->isEmpty()) {
      one.how = Parameter::How::Empty;
    } else {
      at += one.size > sizeof(Word) ? 2 : 1;
    }
    result.push_back(one);
  }
  return result;
}

std::vector<Byte> bytes_of(Machine& machine, const Arguments& arguments, const Parameter& parameter) {
  std::vector<Byte> result;
  if (parameter.how == Parameter::How::Address) {
    const Word from = arguments.word(parameter.first);
    if (!machine.memory().contains(from, parameter.size)) return result;
    result.resize(parameter.size);
    std::memcpy(result.data(), reinterpret_cast<const void*>(from), parameter.size);
  } else if (parameter.how == Parameter::How::Words) {
    const Word words[] = {arguments.word(parameter.first),
                          parameter.size > sizeof(Word) ? arguments.word(parameter.first + 1) : 0};
    result.resize(std::min(parameter.size, sizeof words));
    std::memcpy(result.data(), words, result.size());
  }
  return result;
}

}  // namespace streamsan::analyzer::interpreter

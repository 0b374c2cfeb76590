// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the parameters of a C++ function to the arguments of its IR (x86-64).
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/interpreter/machine.h"

namespace clang {
class ASTContext;
class FunctionDecl;
}  // namespace clang

namespace streamsan::analyzer::interpreter {

struct Parameter {
  enum class How : std::uint8_t {
    Empty,    ///< it is not passed
    Words,    ///< in one word, or in two
    Address,  ///< by the address of a copy
  };
  How how = How::Words;
  std::size_t first = 0;  ///< its first argument in the IR
  std::size_t size = 0;   ///< bytes of the object; 8 for a reference
};

std::vector<Parameter> parameters_of(const clang::FunctionDecl& declared, const llvm::Function& function,
                                     clang::ASTContext& context);

/// The bytes of an argument; for a reference, the bytes of the address. Empty: it is not in the program's memory.
std::vector<Byte> bytes_of(Machine& machine, const Arguments& arguments, const Parameter& parameter);

}  // namespace streamsan::analyzer::interpreter

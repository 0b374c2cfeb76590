// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the arguments of a C++ function stand among those of its IR (x86-64).
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
    Empty,    ///< not at all
    Words,    ///< one, or two
    Address,  ///< of a copy
  };
  How how = How::Words;
  std::size_t first = 0;  ///< in the IR
  std::size_t size = 0;   ///< of the object; of a reference: 8
};

std::vector<Parameter> parameters_of(const clang::FunctionDecl& declared, const llvm::Function& function,
                                     clang::ASTContext& context);

/// The bytes of an argument; of one that is a reference, its address. Empty: it is nowhere.
std::vector<Byte> bytes_of(Machine& machine, const Arguments& arguments, const Parameter& parameter);

}  // namespace streamsan::analyzer::interpreter

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the module, made ready to be run. See decode.cpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/interpreter/memory.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Function;
class Instruction;
}  // namespace llvm

namespace streamsan::analyzer::interpreter {

class Image;

constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};
constexpr std::uint32_t kNoLoop = ~std::uint32_t{0};

struct Operand {
  const Byte* constant = nullptr;  ///< nullptr: the operand is a place in the frame
  std::uint32_t place = kNoPlace;
};

/// The value that a phi gets on one edge to its block.
struct Move {
  Operand from;
  std::uint32_t to = 0;
  std::uint32_t size = 0;
};

struct Decoded {
  const llvm::Instruction* written = nullptr;
  unsigned opcode = 0;
  std::uint32_t place = kNoPlace;  ///< the place of the result
  std::uint32_t size = 0;          ///< bytes of the result; of a store: bytes of the value
  unsigned bits = 0;               ///< bits of the first operand, if it is an integer or pointer
  llvm::SmallVector<Operand, 3> operands;
  std::int64_t offset = 0;                                              ///< getelementptr, insertvalue, extractvalue
  llvm::SmallVector<std::pair<std::uint32_t, std::int64_t>, 1> scaled;  ///< getelementptr: operand, bytes
  llvm::SmallVector<std::size_t, 2> ways;         ///< the first instruction of each successor block
  llvm::SmallVector<std::vector<Move>, 2> moves;  ///< the values of its phis, by successor
  llvm::SmallVector<std::uint32_t, 2> enters;     ///< by successor: the loop whose head it is, or kNoLoop
  llvm::SmallVector<bool, 2> again;               ///< by successor: the edge comes from inside of that loop
  std::uint32_t loop = kNoLoop;                   ///< the loop that one successor is outside of
  std::size_t way_out = 0;
  bool computes = false;  ///< a unary or binary operation, or a comparison
  bool meant = false;     ///< a volatile or atomic access
};

struct Code {
  const llvm::Function* function = nullptr;
  std::uint32_t frame = 0;                                         ///< bytes of the frame
  std::vector<std::pair<std::uint32_t, std::uint32_t>> arguments;  ///< place, size
  std::vector<Decoded> body;
  std::size_t loops = 0;
  bool taken = false;  ///< World::call() runs it
};

/// Fills in all but `taken`.
void decode(const llvm::Function& function, Image& image, Code& code);

}  // namespace streamsan::analyzer::interpreter

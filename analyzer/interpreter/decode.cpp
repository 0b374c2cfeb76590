// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function is decoded when it is first called. Each argument and each instruction with a value gets a place in the
// frame, with the size of the value in memory; operands are places or constants. Values are bytes, so that structs and
// vectors need no special code: unoptimised code passes them on but hardly computes with them.
//
// Loops are found as well, with the branches that leave them: the machine does not run every loop to its end.
#include "analyzer/interpreter/decode.h"

#include <algorithm>

#include "analyzer/interpreter/image.h"
#include "analyzer/interpreter/values.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"

namespace streamsan::analyzer::interpreter {

void decode(const llvm::Function& function, Image& image, Code& code) {
  const llvm::DataLayout& layout = image.layout();
  llvm::DenseMap<const llvm::Value*, std::uint32_t> places;
  llvm::DenseMap<const llvm::BasicBlock*, std::size_t> blocks;
  std::uint32_t frame = 0;
  const auto size_of = [&](llvm::Type* type) {
    return type->isSized() ? static_cast<std::uint32_t>(layout.getTypeAllocSize(type).getFixedValue()) : 0U;
  };
  const auto place = [&](const llvm::Value& value) {
    const std::uint32_t size = size_of(value.getType());
    const std::uint32_t at = frame;
    places[&value] = at;
    frame += (std::max(size, 16U) + 15U) / 16U * 16U;
    return std::pair(at, size);
  };
  for (const llvm::Argument& argument : function.args()) code.arguments.push_back(place(argument));
  std::size_t count = 0;
  for (const llvm::BasicBlock& block : function) {
    blocks[&block] = count;
    for (const llvm::Instruction& instruction : block) {
      if (!instruction.getType()->isVoidTy()) place(instruction);
      if (!llvm::isa<llvm::PHINode>(instruction)) ++count;
    }
  }
  code.frame = frame;
  llvm::DominatorTree order(const_cast<llvm::Function&>(function));
  const llvm::LoopInfo all_loops(order);
  llvm::DenseMap<const llvm::Loop*, std::uint32_t> loops;
  for (const llvm::Loop* loop : all_loops.getLoopsInPreorder()) loops[loop] = static_cast<std::uint32_t>(code.loops++);
  const auto operand = [&](const llvm::Value& value) -> Operand {
    if (const auto* fixed = llvm::dyn_cast<llvm::Constant>(&value)) return {image.constant(*fixed), kNoPlace};
    const auto found = places.find(&value);
    return found == places.end() ? Operand{} : Operand{nullptr, found->second};
  };
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      if (llvm::isa<llvm::PHINode>(instruction)) continue;
      Decoded& decoded = code.body.emplace_back();
      decoded.written = &instruction;
      decoded.opcode = instruction.getOpcode();
      decoded.computes = llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst>(instruction);
      if (!instruction.getType()->isVoidTy()) {
        decoded.place = places[&instruction];
        decoded.size = size_of(instruction.getType());
      }
      for (const llvm::Use& use : instruction.operands()) {
        if (llvm::isa<llvm::BasicBlock, llvm::MetadataAsValue, llvm::InlineAsm>(use.get())) {
          decoded.operands.push_back({});
        } else {
          decoded.operands.push_back(operand(*use.get()));
        }
      }
      if (instruction.getNumOperands() > 0) decoded.bits = bits_of(instruction.getOperand(0)->getType());
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        decoded.size =
            static_cast<std::uint32_t>(layout.getTypeStoreSize(store->getValueOperand()->getType()).getFixedValue());
        decoded.meant = store->isVolatile() || store->isAtomic();
      } else if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        decoded.size = static_cast<std::uint32_t>(layout.getTypeStoreSize(load->getType()).getFixedValue());
        decoded.meant = load->isVolatile() || load->isAtomic();
      } else if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
        std::uint32_t index = 1;
        for (auto at = llvm::gep_type_begin(address), end = llvm::gep_type_end(address); at != end; ++at, ++index) {
          if (llvm::StructType* record = at.getStructTypeOrNull()) {
            const auto field = llvm::cast<llvm::ConstantInt>(at.getOperand())->getZExtValue();
            decoded.offset += static_cast<std::int64_t>(
                layout.getStructLayout(record)->getElementOffset(static_cast<unsigned>(field)).getFixedValue());
            continue;
          }
          const auto stride = static_cast<std::int64_t>(at.getSequentialElementStride(layout).getFixedValue());
          if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(at.getOperand())) {
            decoded.offset += number->getSExtValue() * stride;
          } else {
            decoded.scaled.push_back({index, stride});
          }
        }
      } else if (llvm::isa<llvm::ExtractValueInst, llvm::InsertValueInst>(instruction)) {
        const auto indices = llvm::isa<llvm::ExtractValueInst>(instruction)
                                 ? llvm::cast<llvm::ExtractValueInst>(instruction).getIndices()
                                 : llvm::cast<llvm::InsertValueInst>(instruction).getIndices();
        llvm::Type* type = instruction.getOperand(0)->getType();
        for (const unsigned i : indices) {
          if (auto* record = llvm::dyn_cast<llvm::StructType>(type)) {
            decoded.offset +=
                static_cast<std::int64_t>(layout.getStructLayout(record)->getElementOffset(i).getFixedValue());
            type = record->getElementType(i);
          } else {
            type = llvm::cast<llvm::ArrayType>(type)->getElementType();
            decoded.offset += static_cast<std::int64_t>(i * layout.getTypeAllocSize(type).getFixedValue());
          }
        }
      }
      if (instruction.isTerminator()) {
        for (unsigned i = 0; i < instruction.getNumSuccessors(); ++i) {
          const llvm::BasicBlock* next = instruction.getSuccessor(i);
          const llvm::Loop* entered = all_loops.getLoopFor(next);
          const bool is_head = entered != nullptr && entered->getHeader() == next;
          decoded.enters.push_back(is_head ? loops[entered] : kNoLoop);
          decoded.again.push_back(is_head && entered->contains(&block));
          const llvm::Loop* around = all_loops.getLoopFor(&block);
          if (around != nullptr && instruction.getNumSuccessors() == 2 && !around->contains(next)) {
            decoded.loop = loops[around];
            decoded.way_out = i;
          }
          decoded.ways.push_back(blocks[next]);
          std::vector<Move>& moves = decoded.moves.emplace_back();
          for (const llvm::PHINode& phi : next->phis())
            moves.push_back({operand(*phi.getIncomingValueForBlock(&block)), places[&phi], size_of(phi.getType())});
        }
      }
    }
  }
}

}  // namespace streamsan::analyzer::interpreter

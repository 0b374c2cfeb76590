// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One instruction.
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

void Machine::step() {
  Frame& frame = thread_->frames.back();
  const Decoded& decoded = frame.code->body[frame.next];
  frame.at = decoded.written;
  ++steps_;
  const auto at = [&](std::size_t i) -> const Byte* {
    const Operand& operand = decoded.operands[i];
    return operand.constant != nullptr ? operand.constant : frame.slots + operand.place;
  };
  Byte* const result = frame.slots + decoded.place;
  const unsigned bits = decoded.bits;
  const auto word = [&](std::size_t i) {
    Word value = 0;
    std::memcpy(&value, at(i), sizeof value);
    return value;
  };
  llvm::Type* const type = decoded.written->getType();
  using I = llvm::Instruction;
  if (decoded.computes && bits == 0 && !is_number(decoded.written->getOperand(0)->getType()))
    return stop("arithmetic of a kind that is not known");
  switch (decoded.opcode) {
    case I::Alloca: {
      const auto& made = llvm::cast<llvm::AllocaInst>(*decoded.written);
      const std::size_t size = image_.layout().getTypeAllocSize(made.getAllocatedType()).getFixedValue() *
                               static_cast<std::size_t>(get(at(0), bits));
      if (size > Memory::kStack || static_cast<std::size_t>(get(at(0), bits)) > Memory::kStack)
        return stop("the stack is too small");
      thread_->top = reinterpret_cast<Byte*>((reinterpret_cast<Word>(thread_->top) + 31) & ~Word{31});
      if (thread_->top + size + 4096 > memory_.stack(thread_->number) + Memory::kStack)
        return stop("the stack is too small");
      const Word address = reinterpret_cast<Word>(thread_->top);
      std::memset(thread_->top, 0, size);
      thread_->top += size;
      std::memcpy(result, &address, sizeof address);
      break;
    }
    case I::Load: {
      const Word address = word(0);
      if (!reads(address, decoded.size, decoded.meant)) return;
      if (decoded.meant) ++polls_;
      std::memcpy(result, reinterpret_cast<const void*>(address), decoded.size);
      break;
    }
    case I::Store: {
      const Word address = word(1);
      if (!writes(address, decoded.size, decoded.meant)) return;
      std::memcpy(reinterpret_cast<void*>(address), at(0), decoded.size);
      break;
    }
    case I::GetElementPtr: {
      Word address = word(0) + static_cast<Word>(decoded.offset);
      for (const auto& [index, stride] : decoded.scaled) {
        const unsigned width = bits_of(decoded.written->getOperand(index)->getType());
        address += static_cast<Word>(static_cast<std::int64_t>(get_signed(at(index), width)) * stride);
      }
      std::memcpy(result, &address, sizeof address);
      break;
    }
    case I::Br:
      if (decoded.ways.size() == 1) return go(frame, decoded, 0);
      if (decoded.loop != kNoLoop && polls(frame, decoded.loop)) return go(frame, decoded, decoded.way_out);
      if (decoded.loop != kNoLoop && is_enough(frame, decoded.loop)) {
        cut_ = cut_ || frame.loops[decoded.loop].events != events_;
        return go(frame, decoded, decoded.way_out);
      }
      return go(frame, decoded, (*at(0) & 1) != 0 ? 0 : 1);
    case I::Switch: {
      const auto& choice = llvm::cast<llvm::SwitchInst>(*decoded.written);
      const Word value = static_cast<Word>(get(at(0), bits));
      std::size_t way = 0;
      for (const auto& one : choice.cases())
        if (one.getCaseValue()->getZExtValue() == value) way = one.getSuccessorIndex();
      return go(frame, decoded, way);
    }
    case I::Ret:
      return leave(decoded.operands.empty() ? nullptr : at(0));
    case I::Call:
    case I::Invoke:
      return call(decoded, frame);
    case I::Unreachable:
      return give_up("the program ends itself");
    case I::Resume: {
      Word object = 0;
      std::memcpy(&object, at(0), sizeof object);
      thread_->thrown = object;
      const bool outermost = frame.call == nullptr;
      thread_->top = frame.slots;
      thread_->frames.pop_back();
      if (outermost) return give_up("an exception that nobody catches");
      return unwind();
    }
    case I::Add:
      put(result, get(at(0), bits) + get(at(1), bits), bits);
      break;
    case I::Sub:
      put(result, get(at(0), bits) - get(at(1), bits), bits);
      break;
    case I::Mul:
      put(result, get(at(0), bits) * get(at(1), bits), bits);
      break;
    case I::And:
      put(result, get(at(0), bits) & get(at(1), bits), bits);
      break;
    case I::Or:
      put(result, get(at(0), bits) | get(at(1), bits), bits);
      break;
    case I::Xor:
      put(result, get(at(0), bits) ^ get(at(1), bits), bits);
      break;
    case I::UDiv:
    case I::URem:
    case I::SDiv:
    case I::SRem: {
      if (get(at(1), bits) == 0) return stop("a division by zero");
      const Wide a = get(at(0), bits), b = get(at(1), bits);
      const SignedWide x = get_signed(at(0), bits), y = get_signed(at(1), bits);
      put(result,
          decoded.opcode == I::UDiv   ? a / b
          : decoded.opcode == I::URem ? a % b
                                      : static_cast<Wide>(decoded.opcode == I::SDiv ? x / y : x % y),
          bits);
      break;
    }
    case I::Shl:
    case I::LShr:
    case I::AShr: {
      const Word by = static_cast<Word>(get(at(1), bits));
      const Wide value = by >= bits                  ? 0
                         : decoded.opcode == I::Shl  ? get(at(0), bits) << by
                         : decoded.opcode == I::LShr ? get(at(0), bits) >> by
                                                     : static_cast<Wide>(get_signed(at(0), bits) >> by);
      put(result, value, bits);
      break;
    }
    case I::ICmp: {
      const auto& compare = llvm::cast<llvm::ICmpInst>(*decoded.written);
      const Wide a = get(at(0), bits), b = get(at(1), bits);
      bool holds = false;
      switch (compare.getPredicate()) {
        case llvm::CmpInst::ICMP_EQ:
          holds = a == b;
          break;
        case llvm::CmpInst::ICMP_NE:
          holds = a != b;
          break;
        case llvm::CmpInst::ICMP_UGT:
          holds = a > b;
          break;
        case llvm::CmpInst::ICMP_UGE:
          holds = a >= b;
          break;
        case llvm::CmpInst::ICMP_ULT:
          holds = a < b;
          break;
        case llvm::CmpInst::ICMP_ULE:
          holds = a <= b;
          break;
        case llvm::CmpInst::ICMP_SGT:
          holds = get_signed(at(0), bits) > get_signed(at(1), bits);
          break;
        case llvm::CmpInst::ICMP_SGE:
          holds = get_signed(at(0), bits) >= get_signed(at(1), bits);
          break;
        case llvm::CmpInst::ICMP_SLT:
          holds = get_signed(at(0), bits) < get_signed(at(1), bits);
          break;
        case llvm::CmpInst::ICMP_SLE:
          holds = get_signed(at(0), bits) <= get_signed(at(1), bits);
          break;
        default:
          break;
      }
      *result = holds ? 1 : 0;
      break;
    }
    case I::FCmp: {
      const auto& compare = llvm::cast<llvm::FCmpInst>(*decoded.written);
      const llvm::Type* of = compare.getOperand(0)->getType();
      const long double a = get_float(at(0), of), b = get_float(at(1), of);
      const bool unordered = std::isnan(a) || std::isnan(b);
      bool holds = false;
      switch (compare.getPredicate()) {
        case llvm::CmpInst::FCMP_OEQ:
          holds = !unordered && a == b;
          break;
        case llvm::CmpInst::FCMP_ONE:
          holds = !unordered && a != b;
          break;
        case llvm::CmpInst::FCMP_OGT:
          holds = !unordered && a > b;
          break;
        case llvm::CmpInst::FCMP_OGE:
          holds = !unordered && a >= b;
          break;
        case llvm::CmpInst::FCMP_OLT:
          holds = !unordered && a < b;
          break;
        case llvm::CmpInst::FCMP_OLE:
          holds = !unordered && a <= b;
          break;
        case llvm::CmpInst::FCMP_UEQ:
          holds = unordered || a == b;
          break;
        case llvm::CmpInst::FCMP_UNE:
          holds = unordered || a != b;
          break;
        case llvm::CmpInst::FCMP_UGT:
          holds = unordered || a > b;
          break;
        case llvm::CmpInst::FCMP_UGE:
          holds = unordered || a >= b;
          break;
        case llvm::CmpInst::FCMP_ULT:
          holds = unordered || a < b;
          break;
        case llvm::CmpInst::FCMP_ULE:
          holds = unordered || a <= b;
          break;
        case llvm::CmpInst::FCMP_ORD:
          holds = !unordered;
          break;
        case llvm::CmpInst::FCMP_UNO:
          holds = unordered;
          break;
        case llvm::CmpInst::FCMP_TRUE:
          holds = true;
          break;
        default:
          break;
      }
      *result = holds ? 1 : 0;
      break;
    }
    case I::FAdd:
    case I::FSub:
    case I::FMul:
    case I::FDiv:
    case I::FRem: {
      const long double a = get_float(at(0), type), b = get_float(at(1), type);
      const long double value = decoded.opcode == I::FAdd   ? a + b
                                : decoded.opcode == I::FSub ? a - b
                                : decoded.opcode == I::FMul ? a * b
                                : decoded.opcode == I::FDiv ? a / b
                                                            : std::fmod(a, b);
      put_float(result, value, type);
      break;
    }
    case I::FNeg:
      put_float(result, -get_float(at(0), type), type);
      break;
    case I::Trunc:
    case I::ZExt:
    case I::PtrToInt:
    case I::IntToPtr:
      put(result, get(at(0), bits), bits_of(type));
      break;
    case I::SExt:
      put(result, static_cast<Wide>(get_signed(at(0), bits)), bits_of(type));
      break;
    case I::FPTrunc:
    case I::FPExt:
      put_float(result, get_float(at(0), decoded.written->getOperand(0)->getType()), type);
      break;
    case I::FPToUI:
    case I::FPToSI: {
      const long double value = get_float(at(0), decoded.written->getOperand(0)->getType());
      constexpr long double kMost = 9.2e18L;
      if (std::isnan(value)) {
        put(result, 0, bits_of(type));
      } else if (value < 0) {
        put(result, static_cast<Wide>(static_cast<SignedWide>(static_cast<std::int64_t>(std::max(value, -kMost)))),
            bits_of(type));
      } else {
        put(result, static_cast<std::uint64_t>(std::min(value, 2 * kMost)), bits_of(type));
      }
      break;
    }
    case I::UIToFP:
      put_float(result, static_cast<long double>(get(at(0), bits)), type);
      break;
    case I::SIToFP:
      put_float(result, static_cast<long double>(get_signed(at(0), bits)), type);
      break;
    case I::BitCast:
    case I::AddrSpaceCast:
    case I::Freeze:
      std::memmove(result, at(0), decoded.size);
      break;
    case I::Select:
      std::memmove(result, (*at(0) & 1) != 0 ? at(1) : at(2), decoded.size);
      break;
    case I::ExtractValue:
      std::memmove(result, at(0) + decoded.offset, decoded.size);
      break;
    case I::InsertValue: {
      std::memmove(result, at(0), decoded.size);
      const auto* inserted = decoded.written->getOperand(1);
      std::memmove(result + decoded.offset, at(1),
                   image_.layout().getTypeStoreSize(inserted->getType()).getFixedValue());
      break;
    }
    case I::ExtractElement: {
      const auto index = static_cast<std::size_t>(get(at(1), bits_of(decoded.written->getOperand(1)->getType())));
      const auto* from = llvm::dyn_cast<llvm::FixedVectorType>(decoded.written->getOperand(0)->getType());
      if (from == nullptr || index >= from->getNumElements()) return stop("an element that is not there");
      std::memmove(result, at(0) + index * decoded.size, decoded.size);
      break;
    }
    case I::InsertElement: {
      std::memmove(result, at(0), decoded.size);
      const std::size_t size =
          image_.layout().getTypeStoreSize(decoded.written->getOperand(1)->getType()).getFixedValue();
      const auto index = static_cast<std::size_t>(get(at(2), bits_of(decoded.written->getOperand(2)->getType())));
      if ((index + 1) * size <= decoded.size) std::memmove(result + index * size, at(1), size);
      break;
    }
    case I::ShuffleVector: {
      const auto& mix = llvm::cast<llvm::ShuffleVectorInst>(*decoded.written);
      const auto* from = llvm::cast<llvm::FixedVectorType>(mix.getOperand(0)->getType());
      const std::size_t size = image_.layout().getTypeStoreSize(from->getElementType()).getFixedValue();
      const auto count = static_cast<int>(from->getNumElements());
      std::vector<Byte> made(decoded.size);
      std::size_t to = 0;
      for (const int index : mix.getShuffleMask()) {
        if (index >= 0 && (to + 1) * size <= made.size())
          std::memcpy(made.data() + to * size,
                      (index < count ? at(0) : at(1)) + static_cast<std::size_t>(index % count) * size, size);
        ++to;
      }
      std::memcpy(result, made.data(), made.size());
      break;
    }
    case I::AtomicRMW: {
      const auto& change = llvm::cast<llvm::AtomicRMWInst>(*decoded.written);
      const unsigned width = bits_of(type);
      const std::size_t size = (width + 7) / 8;
      const Word address = word(0);
      if (width == 0 || width > 64 || !writes(address, size, true)) return stop("an atomic access of an odd kind");
      Byte* const place = reinterpret_cast<Byte*>(address);
      const Wide old = get(place, width), by = get(at(1), width);
      Wide fresh = by;
      switch (change.getOperation()) {
        case llvm::AtomicRMWInst::Add:
          fresh = old + by;
          break;
        case llvm::AtomicRMWInst::Sub:
          fresh = old - by;
          break;
        case llvm::AtomicRMWInst::And:
          fresh = old & by;
          break;
        case llvm::AtomicRMWInst::Or:
          fresh = old | by;
          break;
        case llvm::AtomicRMWInst::Xor:
          fresh = old ^ by;
          break;
        default:
          break;
      }
      put(result, old, width);
      put(place, fresh, width);
      break;
    }
    case I::AtomicCmpXchg: {
      const std::size_t size =
          image_.layout().getTypeStoreSize(decoded.written->getOperand(1)->getType()).getFixedValue();
      const Word address = word(0);
      if (!writes(address, size, true)) return;
      ++polls_;
      Byte* const place = reinterpret_cast<Byte*>(address);
      const bool same = std::memcmp(place, at(1), size) == 0;
      std::vector<Byte> old(place, place + size);
      if (same) std::memcpy(place, at(2), size);
      std::memcpy(result, old.data(), size);
      result[size] = same ? 1 : 0;
      break;
    }
    case I::Fence:
    case I::LandingPad:
      break;
    default:
      return stop(std::string("an instruction that is not known: ") + decoded.written->getOpcodeName());
  }
  ++frame.next;
}

}  // namespace streamsan::analyzer::interpreter

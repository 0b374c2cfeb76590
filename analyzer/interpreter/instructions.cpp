// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs one instruction. Instructions that only compute are functions of their operands, by kinds of values; each
// function returns whether the instruction is of its kind. The machine itself handles memory and control flow.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "analyzer/interpreter/machine.h"
#include "analyzer/interpreter/step.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace streamsan::analyzer::interpreter {

namespace {

using I = llvm::Instruction;

bool holds_of_integers(const Step& step) {
  const llvm::CmpInst::Predicate predicate = llvm::cast<llvm::ICmpInst>(*step.decoded.written).getPredicate();
  const Wide a = step.integer(0), b = step.integer(1);
  switch (predicate) {
    case llvm::CmpInst::ICMP_EQ:
      return a == b;
    case llvm::CmpInst::ICMP_NE:
      return a != b;
    case llvm::CmpInst::ICMP_UGT:
      return a > b;
    case llvm::CmpInst::ICMP_UGE:
      return a >= b;
    case llvm::CmpInst::ICMP_ULT:
      return a < b;
    case llvm::CmpInst::ICMP_ULE:
      return a <= b;
    case llvm::CmpInst::ICMP_SGT:
      return step.signed_integer(0) > step.signed_integer(1);
    case llvm::CmpInst::ICMP_SGE:
      return step.signed_integer(0) >= step.signed_integer(1);
    case llvm::CmpInst::ICMP_SLT:
      return step.signed_integer(0) < step.signed_integer(1);
    case llvm::CmpInst::ICMP_SLE:
      return step.signed_integer(0) <= step.signed_integer(1);
    default:
      return false;
  }
}

bool holds_of_floats(const Step& step) {
  const llvm::CmpInst::Predicate predicate = llvm::cast<llvm::FCmpInst>(*step.decoded.written).getPredicate();
  const long double a = get_float(step.at(0), step.type_of(0)), b = get_float(step.at(1), step.type_of(0));
  const bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
    case llvm::CmpInst::FCMP_OEQ:
      return !unordered && a == b;
    case llvm::CmpInst::FCMP_ONE:
      return !unordered && a != b;
    case llvm::CmpInst::FCMP_OGT:
      return !unordered && a > b;
    case llvm::CmpInst::FCMP_OGE:
      return !unordered && a >= b;
    case llvm::CmpInst::FCMP_OLT:
      return !unordered && a < b;
    case llvm::CmpInst::FCMP_OLE:
      return !unordered && a <= b;
    case llvm::CmpInst::FCMP_UEQ:
      return unordered || a == b;
    case llvm::CmpInst::FCMP_UNE:
      return unordered || a != b;
    case llvm::CmpInst::FCMP_UGT:
      return unordered || a > b;
    case llvm::CmpInst::FCMP_UGE:
      return unordered || a >= b;
    case llvm::CmpInst::FCMP_ULT:
      return unordered || a < b;
    case llvm::CmpInst::FCMP_ULE:
      return unordered || a <= b;
    case llvm::CmpInst::FCMP_ORD:
      return !unordered;
    case llvm::CmpInst::FCMP_UNO:
      return unordered;
    case llvm::CmpInst::FCMP_TRUE:
      return true;
    default:
      return false;
  }
}

Wide quotient(Step& step) {
  if (step.integer(1) == 0) {
    step.fault = "a division by zero";
    return 0;
  }
  const Wide a = step.integer(0), b = step.integer(1);
  const SignedWide x = step.signed_integer(0), y = step.signed_integer(1);
  switch (step.decoded.opcode) {
    case I::UDiv:
      return a / b;
    case I::URem:
      return a % b;
    case I::SDiv:
      return static_cast<Wide>(x / y);
    default:
      return static_cast<Wide>(x % y);
  }
}

Wide shifted(const Step& step) {
  const Word by = static_cast<Word>(step.integer(1));
  if (by >= step.bits) return 0;
  switch (step.decoded.opcode) {
    case I::Shl:
      return step.integer(0) << by;
    case I::LShr:
      return step.integer(0) >> by;
    default:
      return static_cast<Wide>(step.signed_integer(0) >> by);
  }
}

bool of_integers(Step& step) {
  switch (step.decoded.opcode) {
    case I::Add:
      put(step.result, step.integer(0) + step.integer(1), step.bits);
      return true;
    case I::Sub:
      put(step.result, step.integer(0) - step.integer(1), step.bits);
      return true;
    case I::Mul:
      put(step.result, step.integer(0) * step.integer(1), step.bits);
      return true;
    case I::And:
      put(step.result, step.integer(0) & step.integer(1), step.bits);
      return true;
    case I::Or:
      put(step.result, step.integer(0) | step.integer(1), step.bits);
      return true;
    case I::Xor:
      put(step.result, step.integer(0) ^ step.integer(1), step.bits);
      return true;
    case I::UDiv:
    case I::URem:
    case I::SDiv:
    case I::SRem:
      if (const Wide value = quotient(step); step.fault == nullptr) put(step.result, value, step.bits);
      return true;
    case I::Shl:
    case I::LShr:
    case I::AShr:
      put(step.result, shifted(step), step.bits);
      return true;
    case I::ICmp:
      *step.result = holds_of_integers(step) ? 1 : 0;
      return true;
    default:
      return false;
  }
}

bool of_floats(const Step& step) {
  const auto number = [&step](std::size_t i) { return get_float(step.at(i), step.type); };
  switch (step.decoded.opcode) {
    case I::FAdd:
      put_float(step.result, number(0) + number(1), step.type);
      return true;
    case I::FSub:
      put_float(step.result, number(0) - number(1), step.type);
      return true;
    case I::FMul:
      put_float(step.result, number(0) * number(1), step.type);
      return true;
    case I::FDiv:
      put_float(step.result, number(0) / number(1), step.type);
      return true;
    case I::FRem:
      put_float(step.result, std::fmod(number(0), number(1)), step.type);
      return true;
    case I::FNeg:
      put_float(step.result, -number(0), step.type);
      return true;
    case I::FCmp:
      *step.result = holds_of_floats(step) ? 1 : 0;
      return true;
    default:
      return false;
  }
}

/// Of a number that no integer is equal to, the nearest there is.
Wide integer_of(long double value) {
  constexpr long double kMost = 9.2e18L;
  if (std::isnan(value)) return 0;
  if (value < 0) return static_cast<Wide>(static_cast<SignedWide>(static_cast<std::int64_t>(std::max(value, -kMost))));
  return static_cast<std::uint64_t>(std::min(value, 2 * kMost));
}

bool converts(const Step& step) {
  switch (step.decoded.opcode) {
    case I::Trunc:
    case I::ZExt:
    case I::PtrToInt:
    case I::IntToPtr:
      put(step.result, step.integer(0), bits_of(step.type));
      return true;
    case I::SExt:
      put(step.result, static_cast<Wide>(step.signed_integer(0)), bits_of(step.type));
      return true;
    case I::FPTrunc:
    case I::FPExt:
      put_float(step.result, get_float(step.at(0), step.type_of(0)), step.type);
      return true;
    case I::FPToUI:
    case I::FPToSI:
      put(step.result, integer_of(get_float(step.at(0), step.type_of(0))), bits_of(step.type));
      return true;
    case I::UIToFP:
      put_float(step.result, static_cast<long double>(step.integer(0)), step.type);
      return true;
    case I::SIToFP:
      put_float(step.result, static_cast<long double>(step.signed_integer(0)), step.type);
      return true;
    case I::BitCast:
    case I::AddrSpaceCast:
    case I::Freeze:
      std::memmove(step.result, step.at(0), step.decoded.size);
      return true;
    default:
      return false;
  }
}

void shuffle(const Step& step, const llvm::DataLayout& layout) {
  const auto& mix = llvm::cast<llvm::ShuffleVectorInst>(*step.decoded.written);
  const auto* from = llvm::cast<llvm::FixedVectorType>(mix.getOperand(0)->getType());
  const std::size_t size = layout.getTypeStoreSize(from->getElementType()).getFixedValue();
  const auto count = static_cast<int>(from->getNumElements());
  std::vector<Byte> made(step.decoded.size);
  std::size_t to = 0;
  for (const int index : mix.getShuffleMask()) {
    if (index >= 0 && (to + 1) * size <= made.size())
      std::memcpy(made.data() + to * size,
                  (index < count ? step.at(0) : step.at(1)) + static_cast<std::size_t>(index % count) * size, size);
    ++to;
  }
  std::memcpy(step.result, made.data(), made.size());
}

/// Structures and vectors, and the choice of one of two values.
bool of_parts(Step& step, const llvm::DataLayout& layout) {
  const Decoded& decoded = step.decoded;
  const auto stored = [&](unsigned i) { return layout.getTypeStoreSize(step.type_of(i)).getFixedValue(); };
  switch (decoded.opcode) {
    case I::Select:
      std::memmove(step.result, (*step.at(0) & 1) != 0 ? step.at(1) : step.at(2), decoded.size);
      return true;
    case I::ExtractValue:
      std::memmove(step.result, step.at(0) + decoded.offset, decoded.size);
      return true;
    case I::InsertValue:
      std::memmove(step.result, step.at(0), decoded.size);
      std::memmove(step.result + decoded.offset, step.at(1), stored(1));
      return true;
    case I::ExtractElement: {
      const std::size_t index = static_cast<std::size_t>(step.number(1));
      const auto* from = llvm::dyn_cast<llvm::FixedVectorType>(step.type_of(0));
      if (from == nullptr || index >= from->getNumElements())
        step.fault = "an element that is not there";
      else
        std::memmove(step.result, step.at(0) + index * decoded.size, decoded.size);
      return true;
    }
    case I::InsertElement: {
      std::memmove(step.result, step.at(0), decoded.size);
      const std::size_t size = stored(1), index = static_cast<std::size_t>(step.number(2));
      if ((index + 1) * size <= decoded.size) std::memmove(step.result + index * size, step.at(1), size);
      return true;
    }
    case I::ShuffleVector:
      shuffle(step, layout);
      return true;
    default:
      return false;
  }
}

Wide changed(llvm::AtomicRMWInst::BinOp operation, Wide old, Wide by) {
  switch (operation) {
    case llvm::AtomicRMWInst::Add:
      return old + by;
    case llvm::AtomicRMWInst::Sub:
      return old - by;
    case llvm::AtomicRMWInst::And:
      return old & by;
    case llvm::AtomicRMWInst::Or:
      return old | by;
    case llvm::AtomicRMWInst::Xor:
      return old ^ by;
    default:
      return by;
  }
}

}  // namespace

void Machine::branch(const Step& step) {
  const Decoded& decoded = step.decoded;
  Frame& frame = step.frame;
  if (decoded.ways.size() == 1) return go(frame, decoded, 0);
  if (decoded.loop != kNoLoop && polls(frame, decoded.loop)) return go(frame, decoded, decoded.way_out);
  if (decoded.loop != kNoLoop && is_enough(frame, decoded.loop)) {
    cut_ = cut_ || frame.loops[decoded.loop].events != events_;
    return go(frame, decoded, decoded.way_out);
  }
  go(frame, decoded, (*step.at(0) & 1) != 0 ? 0 : 1);
}

void Machine::choose(const Step& step) {
  const Word value = static_cast<Word>(step.integer(0));
  std::size_t way = 0;
  for (const auto& one : llvm::cast<llvm::SwitchInst>(*step.decoded.written).cases())
    if (one.getCaseValue()->getZExtValue() == value) way = one.getSuccessorIndex();
  go(step.frame, step.decoded, way);
}

/// The exception leaves the function.
void Machine::pass_on(const Step& step) {
  Word object = 0;
  std::memcpy(&object, step.at(0), sizeof object);
  thread_->thrown = object;
  const bool outermost = step.frame.call == nullptr;
  thread_->top = step.frame.slots;
  thread_->frames.pop_back();
  if (outermost) return give_up("an exception that nobody catches");
  unwind();
}

bool Machine::allocate(const Step& step) {
  const auto& made = llvm::cast<llvm::AllocaInst>(*step.decoded.written);
  const auto count = static_cast<std::size_t>(step.integer(0));
  const std::size_t size = image_.layout().getTypeAllocSize(made.getAllocatedType()).getFixedValue() * count;
  const auto is_too_much = [this] {
    stop("the stack is too small");
    return false;
  };
  if (size > Memory::kStack || count > Memory::kStack) return is_too_much();
  thread_->top = reinterpret_cast<Byte*>((reinterpret_cast<Word>(thread_->top) + 31) & ~Word{31});
  if (thread_->top + size + 4096 > memory_.stack(thread_->number) + Memory::kStack) return is_too_much();
  const Word address = reinterpret_cast<Word>(thread_->top);
  std::memset(thread_->top, 0, size);
  thread_->top += size;
  std::memcpy(step.result, &address, sizeof address);
  return true;
}

bool Machine::change_at_once(const Step& step) {
  const unsigned width = bits_of(step.type);
  const Word address = step.word(0);
  if (width == 0 || width > 64 || !writes(address, (width + 7) / 8, true)) {
    stop("an atomic access of an odd kind");
    return false;
  }
  Byte* const place = reinterpret_cast<Byte*>(address);
  const Wide old = get(place, width), by = get(step.at(1), width);
  put(step.result, old, width);
  put(place, changed(llvm::cast<llvm::AtomicRMWInst>(*step.decoded.written).getOperation(), old, by), width);
  return true;
}

bool Machine::exchange_if_equal(const Step& step) {
  const std::size_t size = image_.layout().getTypeStoreSize(step.type_of(1)).getFixedValue();
  const Word address = step.word(0);
  if (!writes(address, size, true)) return false;
  ++polls_;
  Byte* const place = reinterpret_cast<Byte*>(address);
  const bool same = std::memcmp(place, step.at(1), size) == 0;
  std::vector<Byte> old(place, place + size);
  if (same) std::memcpy(place, step.at(2), size);
  std::memcpy(step.result, old.data(), size);
  step.result[size] = same ? 1 : 0;
  return true;
}

void Machine::compute(Step& step) {
  if (!of_integers(step) && !converts(step) && !of_parts(step, image_.layout()) && !of_floats(step))
    return stop(std::string("an instruction that is not known: ") + step.decoded.written->getOpcodeName());
  if (step.fault != nullptr) return stop(step.fault);
  ++step.frame.next;
}

void Machine::step() {
  Frame& frame = thread_->frames.back();
  const Decoded& decoded = frame.code->body[frame.next];
  frame.at = decoded.written;
  ++steps_;
  Step step{.decoded = decoded, .frame = frame};
  if (decoded.computes && step.bits == 0 && !is_number(step.type_of(0)))
    return stop("arithmetic of a kind that is not known");
  switch (decoded.opcode) {
    // Control flow.
    case I::Br:
      return branch(step);
    case I::Switch:
      return choose(step);
    case I::Ret:
      return leave(decoded.operands.empty() ? nullptr : step.at(0));
    case I::Call:
    case I::Invoke:
      return call(decoded, frame);
    case I::Unreachable:
      return give_up("the program ends itself");
    case I::Resume:
      return pass_on(step);
    // Memory.
    case I::Alloca:
      if (!allocate(step)) return;
      break;
    case I::Load: {
      const Word address = step.word(0);
      if (!reads(address, decoded.size, decoded.meant)) return;
      if (decoded.meant) ++polls_;
      std::memcpy(step.result, reinterpret_cast<const void*>(address), decoded.size);
      break;
    }
    case I::Store: {
      const Word address = step.word(1);
      if (!writes(address, decoded.size, decoded.meant)) return;
      std::memcpy(reinterpret_cast<void*>(address), step.at(0), decoded.size);
      break;
    }
    case I::GetElementPtr: {
      Word address = step.word(0) + static_cast<Word>(decoded.offset);
      for (const auto& [index, stride] : decoded.scaled)
        address += static_cast<Word>(
            static_cast<std::int64_t>(get_signed(step.at(index), bits_of(step.type_of(index)))) * stride);
      std::memcpy(step.result, &address, sizeof address);
      break;
    }
    case I::AtomicRMW:
      if (!change_at_once(step)) return;
      break;
    case I::AtomicCmpXchg:
      if (!exchange_if_equal(step)) return;
      break;
    case I::Fence:
    case I::LandingPad:
      break;
    default:
      return compute(step);
  }
  ++frame.next;
}

}  // namespace streamsan::analyzer::interpreter

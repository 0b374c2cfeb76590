// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/registers.h"

#include <cstdint>
#include <cstring>

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

void assign(Threads& threads, const Operand& operand, Value value) {
  if (operand.kind != Kind::Register) return;
  threads.registers[static_cast<std::size_t>(operand.reg)] = value;
}

/// Of predicates: 0, 1 or unknown.
Value logic(const Value& a, const Value& b, Op op) {
  const auto is = [](const Value& value, bool what) { return value.known() && (value.form.constant != 0) == what; };
  switch (op) {
    case Op::Move:
      return a;
    case Op::Not:
      return a.known() ? constant(is(a, false)) : Value{};
    case Op::And:
      if (is(a, false) || is(b, false)) return constant(0);
      return is(a, true) && is(b, true) ? constant(1) : Value{};
    case Op::Or:
      if (is(a, true) || is(b, true)) return constant(1);
      return is(a, false) && is(b, false) ? constant(0) : Value{};
    case Op::Xor:
      return a.known() && b.known() ? constant(is(a, true) != is(b, true)) : Value{};
    default:
      return {};
  }
}

}  // namespace

Value Registers::read(const Threads& threads, const Operand& operand) const {
  switch (operand.kind) {
    case Kind::Register: {
      const Value& value = threads.registers[static_cast<std::size_t>(operand.reg)];
      if (!operand.negated || !value.known()) return value;
      return Arithmetic(threads.box).invert(value, 1);
    }
    case Kind::Immediate:
      return constant(operand.immediate);
    case Kind::Special:
      return special(operand.special);
    default:
      return {};
  }
}

Value Registers::special(Special which) const {
  const auto index = static_cast<std::size_t>(which);
  switch (which) {
    case Special::TidX:
    case Special::TidY:
    case Special::TidZ:
    case Special::CtaidX:
    case Special::CtaidY:
    case Special::CtaidZ: {
      Affine form;
      form.factor[which >= Special::CtaidX ? index - static_cast<std::size_t>(Special::CtaidX) : index + 3] = 1;
      return number(form, 64);
    }
    case Special::NtidX:
    case Special::NtidY:
    case Special::NtidZ:
      return constant(launch_.block[index - static_cast<std::size_t>(Special::NtidX)]);
    case Special::NctaidX:
    case Special::NctaidY:
    case Special::NctaidZ:
      return constant(launch_.grid[index - static_cast<std::size_t>(Special::NctaidX)]);
    case Special::Unknown:
      break;
  }
  return {};
}

/// One element of ld.param.
Value Registers::parameter(const Instruction& instruction, std::size_t element) const {
  const auto place = kernel_.place_in_parameters(instruction, element);
  const std::size_t bytes = instruction.type.bits / 8;
  if (!place || bytes > 8 || *place + bytes > launch_.arguments.size()) return {};
  std::uint64_t raw = 0;
  std::memcpy(&raw, launch_.arguments.data() + *place, bytes);
  Wide value = raw;
  if (instruction.type.is_signed && bytes < 8 && raw >> (8 * bytes - 1) != 0) value -= Wide{1} << 8 * bytes;
  return constant(value);
}

void Registers::compute(Threads& threads, Arithmetic& arithmetic, const Instruction& instruction, bool doubtful) const {
  const std::vector<Operand>& operands = instruction.operands;
  const auto forget = [&] {
    for_each_result(instruction, [&](int reg) { threads.registers[static_cast<std::size_t>(reg)] = {}; });
  };
  if (doubtful || operands.empty() || instruction.op == Op::Other || instruction.op == Op::Call) return forget();
  const Operand& result = operands[0];
  if (instruction.op == Op::Load && instruction.space == Space::Param && operands.size() == 2) {
    if (result.kind == Kind::List) {
      for (std::size_t i = 0; i < result.elements.size(); ++i)
        assign(threads, result.elements[i], parameter(instruction, i));
    } else {
      assign(threads, result, parameter(instruction, 0));
    }
    return;
  }
  if (instruction.op == Op::Set) return set(threads, arithmetic, instruction);
  if (instruction.op == Op::Move && result.kind == Kind::List) return unpack(threads, arithmetic, instruction);
  if (result.kind != Kind::Register) return forget();
  const Value value = result_of(threads, arithmetic, instruction);
  if (arithmetic.cut) return;
  assign(threads, result, value);
}

Value Registers::result_of(const Threads& threads, Arithmetic& arithmetic, const Instruction& instruction) const {
  const std::vector<Operand>& operands = instruction.operands;
  const auto operand = [&](std::size_t i) { return i < operands.size() ? read(threads, operands[i]) : Value{}; };
  const Type type = instruction.type;
  const unsigned bits = type.bits;
  if (bits == 1) return logic(operand(1), operand(2), instruction.op);
  switch (instruction.op) {
    case Op::Add:
      return arithmetic.add(operand(1), operand(2), bits);
    case Op::Sub:
      return arithmetic.subtract(operand(1), operand(2), bits);
    case Op::Mul:
      return arithmetic.multiply(operand(1), operand(2), type, instruction.half);
    case Op::Mad: {
      const Value product = arithmetic.multiply(operand(1), operand(2), type, instruction.half);
      return arithmetic.add(product, operand(3), instruction.half == Half::Both ? 2 * bits : bits);
    }
    case Op::Div:
    case Op::Rem:
      return arithmetic.divide(operand(1), operand(2), type, instruction.op == Op::Rem);
    case Op::Neg:
      return arithmetic.subtract(constant(0), operand(1), bits);
    case Op::Not:
      return arithmetic.invert(operand(1), bits);
    case Op::Abs:
      return arithmetic.absolute(operand(1), type);
    case Op::Min:
    case Op::Max:
      return arithmetic.extreme(operand(1), operand(2), type, instruction.op == Op::Max);
    case Op::And:
      return arithmetic.bit_and(operand(1), operand(2), bits);
    case Op::Or:
    case Op::Xor:
      return arithmetic.bit_or(operand(1), operand(2), bits, instruction.op == Op::Xor);
    case Op::Shl:
    case Op::Shr:
      return arithmetic.shift(operand(1), operand(2), type, instruction.op == Op::Shl);
    case Op::Bfe:
      return arithmetic.extract(operand(1), operand(2), operand(3), type);
    case Op::Bfi:
      return arithmetic.insert(operand(1), operand(2), operand(3), operand(4), bits);
    case Op::Convert:
      return arithmetic.convert(operand(1), type, instruction.source_type, instruction.saturates);
    case Op::ToSpace:
      return instruction.space == Space::Global ? operand(1) : Value{};
    case Op::Select: {
      const Value chosen = operand(3);
      if (chosen.known()) return operand(chosen.form.constant != 0 ? 1 : 2);
      return operand(1) == operand(2) ? operand(1) : Value{};
    }
    case Op::Move:
      if (operands.size() == 2 && operands[1].kind == Kind::List) return pack(threads, arithmetic, instruction);
      return operand(1);
    default:
      return {};
  }
}

void Registers::set(Threads& threads, Arithmetic& arithmetic, const Instruction& instruction) const {
  const std::vector<Operand>& operands = instruction.operands;
  const Operand& result = operands[0];
  Value answer;
  if (operands.size() > 2 && instruction.type.is_integer && instruction.type == instruction.source_type) {
    Type type = instruction.type;
    if (instruction.compare_unsigned) type.is_signed = false;
    answer = arithmetic.compare(read(threads, operands[1]), read(threads, operands[2]), type, instruction.compare);
    if (arithmetic.cut) return;
  }
  Value opposite = logic(answer, {}, Op::Not);
  if (instruction.combine) {
    const Op op = instruction.combine == '&' ? Op::And : instruction.combine == '|' ? Op::Or : Op::Xor;
    const Value third = operands.size() > 3 ? read(threads, operands[3]) : Value{};
    answer = logic(answer, third, op);
    opposite = logic(opposite, third, op);
  }
  if (result.kind == Kind::List) {
    if (!result.elements.empty()) assign(threads, result.elements[0], answer);
    if (result.elements.size() > 1) assign(threads, result.elements[1], opposite);
  } else {
    assign(threads, result, answer);
  }
}

/// mov.b64 %rd, {%low, %high};
Value Registers::pack(const Threads& threads, Arithmetic& arithmetic, const Instruction& instruction) const {
  const std::vector<Operand>& parts = instruction.operands[1].elements;
  if (parts.size() != 2 || instruction.type.bits < 16 || instruction.type.bits > 64) return {};
  const unsigned half = instruction.type.bits / 2u;
  const Type type{static_cast<std::uint8_t>(half), false, true};
  const auto low = arithmetic.exact(read(threads, parts[0]), type);
  const Value high = read(threads, parts[1]);
  if (!low || !high.known() || high.bits < half) return {};
  return arithmetic.add(number(*low, 64), {Value::Kind::Number, 64, multiply(high.form, std::int64_t{1} << half, 64)},
                        instruction.type.bits);
}

/// mov.b64 {%low, %high}, %rd;
void Registers::unpack(Threads& threads, Arithmetic& arithmetic, const Instruction& instruction) const {
  const std::vector<Operand>& parts = instruction.operands[0].elements;
  const Value whole = instruction.operands.size() > 1 ? read(threads, instruction.operands[1]) : Value{};
  Value low, high;
  const Type type{instruction.type.bits, false, true};
  if (parts.size() == 2 && (type.bits == 64 || type.bits == 32)) {
    low = whole.known() && whole.bits >= type.bits / 2 ? number(whole.form, type.bits / 2u) : Value{};
    high = arithmetic.shift(whole, constant(type.bits / 2), type, false);
    if (arithmetic.cut) return;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) assign(threads, parts[i], i == 0 ? low : i == 1 ? high : Value{});
}

}  // namespace streamsan::ptx

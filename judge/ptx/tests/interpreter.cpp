// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/tests/interpreter.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

constexpr int kMostSteps = 200'000;

std::uint64_t noise(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ value >> 27) * 0x94d049bb133111ebull;
  return value ^ value >> 31;
}

std::uint64_t cut_to(std::uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::int64_t extend(std::uint64_t value, unsigned bits) {
  if (bits >= 64) return static_cast<std::int64_t>(value);
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

class Thread {
 public:
  Thread(const Kernel& kernel, const Launch& launch, std::uint64_t seed, Trail& trail,
         const std::array<std::uint32_t, 6>& at)
      : kernel_(kernel),
        launch_(launch),
        seed_(seed),
        trail_(trail),
        at_(at),
        registers_(static_cast<std::size_t>(kernel.registers)) {}

  bool run() {
    std::size_t pc = 0;
    for (int step = 0; step < kMostSteps; ++step) {
      if (pc >= kernel_.instructions.size()) return true;
      const Instruction& instruction = kernel_.instructions[pc++];
      if (instruction.guard >= 0 &&
          ((registers_[static_cast<std::size_t>(instruction.guard)] & 1) != 0) == instruction.guard_negated)
        continue;
      if (instruction.op == Op::Exit) return true;
      if (instruction.op == Op::Branch) {
        if (instruction.target < 0) return false;
        pc = static_cast<std::size_t>(instruction.target);
      } else if (!execute(instruction)) {
        return false;
      }
    }
    return false;
  }

 private:
  std::uint64_t special(Special which) const {
    switch (which) {
      case Special::CtaidX:
        return at_[0];
      case Special::CtaidY:
        return at_[1];
      case Special::CtaidZ:
        return at_[2];
      case Special::TidX:
        return at_[3];
      case Special::TidY:
        return at_[4];
      case Special::TidZ:
        return at_[5];
      case Special::NtidX:
        return launch_.block[0];
      case Special::NtidY:
        return launch_.block[1];
      case Special::NtidZ:
        return launch_.block[2];
      case Special::NctaidX:
        return launch_.grid[0];
      case Special::NctaidY:
        return launch_.grid[1];
      case Special::NctaidZ:
        return launch_.grid[2];
      case Special::Unknown:
        break;
    }
    return noise(seed_ + 17);
  }

  std::uint64_t read(const Operand& operand) const {
    switch (operand.kind) {
      case Kind::Register: {
        const std::uint64_t value = registers_[static_cast<std::size_t>(operand.reg)];
        return operand.negated ? ~value & 1 : value;
      }
      case Kind::Immediate:
        return static_cast<std::uint64_t>(operand.immediate);
      case Kind::Special:
        return special(operand.special);
      default:
        return noise(seed_ + 3);
    }
  }

  void write(const Operand& operand, std::uint64_t value, unsigned bits) {
    if (operand.kind == Kind::Register) registers_[static_cast<std::size_t>(operand.reg)] = cut_to(value, bits);
  }

  void touch(const Operand& memory, std::uint64_t bytes, Mode mode) {
    const std::uint64_t address =
        registers_[static_cast<std::size_t>(memory.reg)] + static_cast<std::uint64_t>(memory.immediate);
    for (std::uint64_t i = 0; i < bytes; ++i) trail_.bytes[static_cast<std::size_t>(mode)].insert(address + i);
  }

  void forget(const Instruction& instruction) {
    std::uint64_t salt = seed_ + 99 * static_cast<std::uint64_t>(&instruction - kernel_.instructions.data());
    for (const Operand& operand : instruction.operands)
      if (operand.kind == Kind::Register) salt += registers_[static_cast<std::size_t>(operand.reg)];
    for_each_result(instruction, [&](int reg) { registers_[static_cast<std::size_t>(reg)] = noise(++salt); });
  }

  void load(const Instruction& in, Mode mode) {
    const Operand& memory = in.operands[1];
    const unsigned bytes = in.type.bits / 8u;
    std::vector<Operand> results =
        in.operands[0].kind == Kind::List ? in.operands[0].elements : std::vector{in.operands[0]};
    if (in.space == Space::Param) {
      const Parameter* parameter = kernel_.parameter(memory.symbol);
      if (!parameter) return forget(in);  // the result of a call
      std::uint64_t offset = parameter->offset + static_cast<std::uint64_t>(memory.immediate);
      for (const Operand& result : results) {
        std::uint64_t value = 0;
        std::memcpy(&value, launch_.arguments.data() + offset, bytes);
        write(result, in.type.is_signed ? static_cast<std::uint64_t>(extend(value, in.type.bits)) : value, 64);
        offset += bytes;
      }
      return;
    }
    const bool reaches = in.space == Space::Global || in.space == Space::Generic;
    if (reaches) touch(memory, std::uint64_t{bytes} * in.vector, mode);
    std::uint64_t address = seed_;
    if (memory.reg >= 0)
      address += registers_[static_cast<std::size_t>(memory.reg)] + static_cast<std::uint64_t>(memory.immediate);
    for (const Operand& result : results) {
      // Small, so that gathers stay near.
      const std::uint64_t value = noise(address++) % 101;
      write(result, value, 64);
    }
  }

  bool execute(const Instruction& in) {
    const std::vector<Operand>& o = in.operands;
    const unsigned bits = in.type.bits;
    const auto u = [&](std::size_t i) { return cut_to(read(o[i]), bits); };
    const auto s = [&](std::size_t i) { return extend(read(o[i]), bits); };
    const bool is_signed = in.type.is_signed;
    switch (in.op) {
      case Op::None:
        return true;
      case Op::Load:
        load(in, in.strong ? Mode::Atomic : Mode::Read);
        return true;
      case Op::Store:
        if (in.space == Space::Global || in.space == Space::Generic)
          touch(o[0], access_bytes(in), in.strong ? Mode::Atomic : Mode::Write);
        return true;
      case Op::Atomic:
        load(in, Mode::Atomic);
        return true;
      case Op::Reduce:
        touch(o[0], access_bytes(in), Mode::Atomic);
        return true;
      case Op::AsyncCopy:
        touch(o[1], static_cast<std::uint64_t>(o[2].immediate), Mode::Read);
        return true;
      case Op::Add:
        write(o[0], read(o[1]) + read(o[2]), bits);
        return true;
      case Op::Sub:
        write(o[0], read(o[1]) - read(o[2]), bits);
        return true;
      case Op::Mul:
      case Op::Mad: {
        const std::uint64_t third = in.op == Op::Mad ? read(o[3]) : 0;
        if (in.half == Half::Low)
          write(o[0], read(o[1]) * read(o[2]) + third, bits);
        else if (bits > 32)
          return false;
        else {
          const std::uint64_t product = is_signed ? static_cast<std::uint64_t>(s(1) * s(2)) : u(1) * u(2);
          if (in.half == Half::Both)
            write(o[0], product + third, 2 * bits);
          else
            write(o[0], (product >> bits) + third, bits);
        }
        return true;
      }
      case Op::Div:
      case Op::Rem: {
        if (u(2) == 0) return false;
        if (is_signed)
          write(o[0], static_cast<std::uint64_t>(in.op == Op::Div ? s(1) / s(2) : s(1) % s(2)), bits);
        else
          write(o[0], in.op == Op::Div ? u(1) / u(2) : u(1) % u(2), bits);
        return true;
      }
      case Op::Neg:
        write(o[0], 0 - read(o[1]), bits);
        return true;
      case Op::Not:
        write(o[0], ~read(o[1]), bits);
        return true;
      case Op::Abs:
        write(o[0], static_cast<std::uint64_t>(s(1) < 0 ? -s(1) : s(1)), bits);
        return true;
      case Op::Min:
      case Op::Max: {
        const bool less = is_signed ? s(1) < s(2) : u(1) < u(2);
        write(o[0], less == (in.op == Op::Min) ? read(o[1]) : read(o[2]), bits);
        return true;
      }
      case Op::And:
        write(o[0], read(o[1]) & read(o[2]), bits);
        return true;
      case Op::Or:
        write(o[0], read(o[1]) | read(o[2]), bits);
        return true;
      case Op::Xor:
        write(o[0], read(o[1]) ^ read(o[2]), bits);
        return true;
      case Op::Shl:
      case Op::Shr: {
        const std::uint64_t by = cut_to(read(o[2]), 32);
        if (in.op == Op::Shl)
          write(o[0], by >= bits ? 0 : read(o[1]) << by, bits);
        else if (is_signed)
          write(o[0], static_cast<std::uint64_t>(s(1) >> std::min<std::uint64_t>(by, bits - 1)), bits);
        else
          write(o[0], by >= bits ? 0 : u(1) >> by, bits);
        return true;
      }
      case Op::Bfe:
        write(o[0], cut_to(u(1) >> read(o[2]), static_cast<unsigned>(read(o[3]))), bits);
        return !is_signed;
      case Op::Bfi: {
        const auto from = static_cast<unsigned>(read(o[3])), count = static_cast<unsigned>(read(o[4]));
        const std::uint64_t mask = cut_to(~std::uint64_t{0}, count) << from;
        write(o[0], (read(o[2]) & ~mask) | (read(o[1]) << from & mask), bits);
        return true;
      }
      case Op::Set:
        return set(in);
      case Op::Select:
        write(o[0], (read(o[3]) & 1) != 0 ? read(o[1]) : read(o[2]), bits);
        return true;
      case Op::Move:
        if (o[0].kind == Kind::List) {
          for (std::size_t i = 0; i < o[0].elements.size(); ++i)
            write(o[0].elements[i], read(o[1]) >> (bits / o[0].elements.size() * i),
                  bits / static_cast<unsigned>(o[0].elements.size()));
        } else if (o[1].kind == Kind::List) {
          std::uint64_t value = 0;
          for (std::size_t i = 0; i < o[1].elements.size(); ++i) {
            const unsigned each = bits / static_cast<unsigned>(o[1].elements.size());
            value |= cut_to(read(o[1].elements[i]), each) << (each * i);
          }
          write(o[0], value, bits);
        } else {
          write(o[0], read(o[1]), bits);
        }
        return true;
      case Op::Convert: {
        if (!in.type.is_integer || !in.source_type.is_integer) {
          forget(in);
          return true;
        }
        const std::uint64_t value = in.source_type.is_signed
                                        ? static_cast<std::uint64_t>(extend(read(o[1]), in.source_type.bits))
                                        : cut_to(read(o[1]), in.source_type.bits);
        write(o[0], in.type.is_signed ? static_cast<std::uint64_t>(extend(value, bits)) : cut_to(value, bits), 64);
        return true;
      }
      case Op::ToSpace:
        write(o[0], read(o[1]), 64);
        return true;
      case Op::Pure:
        forget(in);
        return true;
      case Op::Call:
        forget(in);
        return is_harmless_call(in);
      default:
        return false;
    }
  }

  bool set(const Instruction& in) {
    const std::vector<Operand>& o = in.operands;
    bool yes = false;
    if (!in.type.is_integer) {
      yes = (noise(read(o[1]) + 7 * read(o[2]) + seed_) & 1) != 0;
    } else {
      const std::uint64_t a = cut_to(read(o[1]), in.type.bits), b = cut_to(read(o[2]), in.type.bits);
      const bool is_signed = in.type.is_signed && !in.compare_unsigned;
      const bool less = is_signed ? extend(a, in.type.bits) < extend(b, in.type.bits) : a < b;
      switch (in.compare) {
        case Compare::Eq:
          yes = a == b;
          break;
        case Compare::Ne:
          yes = a != b;
          break;
        case Compare::Lt:
          yes = less;
          break;
        case Compare::Ge:
          yes = !less;
          break;
        case Compare::Le:
          yes = less || a == b;
          break;
        case Compare::Gt:
          yes = !less && a != b;
          break;
        case Compare::None:
          return false;
      }
    }
    const auto combined = [&](bool value) {
      if (!in.combine) return value;
      const bool third = (read(o[3]) & 1) != 0;
      return in.combine == '&' ? value && third : in.combine == '|' ? value || third : value != third;
    };
    if (o[0].kind == Kind::List) {
      write(o[0].elements[0], combined(yes), 1);
      write(o[0].elements[1], combined(!yes), 1);
    } else {
      write(o[0], combined(yes), 1);
    }
    return true;
  }

  const Kernel& kernel_;
  const Launch& launch_;
  std::uint64_t seed_;
  Trail& trail_;
  std::array<std::uint32_t, 6> at_;
  std::vector<std::uint64_t> registers_;
};

}  // namespace

std::optional<Trail> interpret(const Kernel& kernel, const Launch& launch, std::uint64_t seed) {
  Trail trail;
  std::array<std::uint32_t, 6> at{};
  for (at[2] = 0; at[2] < launch.grid[2]; ++at[2])
    for (at[1] = 0; at[1] < launch.grid[1]; ++at[1])
      for (at[0] = 0; at[0] < launch.grid[0]; ++at[0])
        for (at[5] = 0; at[5] < launch.block[2]; ++at[5])
          for (at[4] = 0; at[4] < launch.block[1]; ++at[4])
            for (at[3] = 0; at[3] < launch.block[0]; ++at[3])
              if (!Thread(kernel, launch, seed, trail, at).run()) return std::nullopt;
  return trail;
}

}  // namespace streamsan::ptx

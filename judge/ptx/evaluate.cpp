// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/evaluate.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "judge/ptx/flow.h"
#include "judge/ptx/number.h"

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

constexpr int kMostNested = 24;
constexpr std::size_t kMostLiveValues = std::size_t{1} << 20;
constexpr Type kAddress{64, false, true};
constexpr Type kWord{32, false, true};

/// Threads that have done the same so far.
struct State {
  Box box;
  std::vector<Value> registers;
  int at = 0;
  bool perhaps = false;  ///< whether they come here depends on what memory contains
};

class Evaluation {
 public:
  Evaluation(const Kernel& kernel, const Facts& facts, const Launch& launch, const Limits& limits)
      : kernel_(kernel), facts_(facts), launch_(launch), limits_(limits), flow_(kernel), steps_(limits.steps) {
    result_.settled.assign(facts.words.size(), true);
    result_.complete = true;
  }

  Result run() {
    State all;
    for (std::size_t i = 0; i < 3; ++i) {
      if (launch_.grid[i] == 0 || launch_.block[i] == 0) return {};
      all.box.high[i] = std::int64_t{launch_.grid[i]} - 1;
      all.box.high[i + 3] = std::int64_t{launch_.block[i]} - 1;
    }
    all.registers.resize(static_cast<std::size_t>(kernel_.registers));
    std::vector<State> arrived;
    explore(std::move(all), kNever, 0, arrived);
    result_.steps = limits_.steps - steps_;
    if (failed_) return {.steps = result_.steps};
    result_.evaluated = true;
    for (auto& [what, bytes] : sets_) {
      // An upper bound is a courtesy: without it the pointer is not settled, and that says it all.
      if (!bytes.compact(limits_.pieces)) {
        if (what.exact) return {.steps = result_.steps};
        continue;
      }
      for (const Piece& piece : bytes.pieces()) result_.touched.push_back({piece, what.mode, what.exact});
    }
    return std::move(result_);
  }

 private:
  static constexpr int kNever = -1;

  /// Runs the state, and what is cut from it, to the instruction `stop`, into `arrived`. What comes again to the branch
  /// of a loop that is being explored is covered there. True: some threads ended on the way.
  bool explore(State first, int stop, int depth, std::vector<State>& arrived) {
    bool ended = false;
    std::vector<State> work;
    work.push_back(std::move(first));
    while (!work.empty() && !failed_) {
      if (work.size() > limits_.boxes || work.size() * static_cast<std::size_t>(kernel_.registers) > kMostLiveValues)
        return fail();
      State state = std::move(work.back());
      work.pop_back();
      while (!failed_) {
        if (std::ranges::find(looping_, state.at) != looping_.end()) break;
        if (state.at == stop) {
          arrived.push_back(std::move(state));
          break;
        }
        if (state.at >= static_cast<int>(kernel_.instructions.size())) {
          ended = true;
          break;
        }
        if (steps_ == 0) return fail();
        --steps_;
        Arithmetic arithmetic(state.box);
        const Step step = execute(state, arithmetic, depth);
        if (step == Step::Ended) {
          ended = true;
          break;
        }
        if (step == Step::Cut) {
          std::vector<Box> parts;
          if (!arithmetic.cut || !cut(state.box, *arithmetic.cut, limits_.boxes, parts) || parts.size() < 2)
            return fail();
          for (std::size_t i = 1; i < parts.size(); ++i) {
            work.push_back(state);
            work.back().box = parts[i];
          }
          state.box = parts[0];
          if (work.size() > limits_.boxes || work.size() * state.registers.size() > kMostLiveValues) return fail();
        }
      }
    }
    return ended;
  }

  enum class Step : std::uint8_t { Next, Cut, Ended };

  bool fail() {
    failed_ = true;
    return false;
  }

  Step execute(State& state, Arithmetic& arithmetic, int depth) {
    const Instruction& instruction = kernel_.instructions[static_cast<std::size_t>(state.at)];
    Value guard = constant(1);
    if (instruction.guard >= 0) {
      guard = state.registers[static_cast<std::size_t>(instruction.guard)];
      if (instruction.guard_negated && guard.known()) guard = arithmetic.invert(guard, 1);
    }
    const bool doubtful = !guard.known();
    // Predicates are numbers of one bit, which may be represented as 0, 1 or -1.
    const bool off = guard.known() && guard.form.constant == 0;
    if (instruction.op == Op::Branch || instruction.op == Op::Exit) {
      const int end = static_cast<int>(kernel_.instructions.size());
      const int target = instruction.op == Op::Exit ? end : instruction.target;
      if (target < 0) {
        fail();
        return Step::Ended;
      }
      if (doubtful) return part(state, target, depth);
      state.at = off ? state.at + 1 : target;
      return state.at == end ? Step::Ended : Step::Next;
    }
    if (off) {
      ++state.at;
      return Step::Next;
    }
    if (instruction.op == Op::Call && is_assertion(instruction)) {
      if (doubtful) fail();
      return Step::Ended;
    }
    const bool before = state.perhaps;
    state.perhaps |= doubtful;
    const bool done = touch(state, arithmetic, instruction);
    if (done) compute(state, arithmetic, instruction, doubtful);
    state.perhaps = before;
    if (arithmetic.cut) return Step::Cut;
    ++state.at;
    return Step::Next;
  }

  static bool is_assertion(const Instruction& instruction) {
    return std::ranges::any_of(instruction.operands,
                               [](const Operand& operand) { return operand.symbol == "__assertfail"; });
  }

  // ---- both ways
  // -------------------------------------------------------------------------------------------------------

  /// A branch that memory decides.
  Step part(State& state, int target, int depth) {
    const int branch = state.at;
    const int meeting = flow_.meeting_point(branch);
    if (meeting == Flow::kNowhere || depth >= kMostNested) {
      fail();
      return Step::Ended;
    }
    const std::vector<int> between = flow_.between(branch);
    const bool loops = std::ranges::find(between, branch) != between.end();
    std::vector<bool> changes(state.registers.size());
    for (const int at : between)
      for_each_result(kernel_.instructions[static_cast<std::size_t>(at)],
                      [&](int reg) { changes[static_cast<std::size_t>(reg)] = true; });
    if (loops) {
      if (std::ranges::any_of(between, [&](int at) { return polls(at); })) {
        fail();
        return Step::Ended;
      }
      for (std::size_t i = 0; i < changes.size(); ++i)
        if (changes[i]) state.registers[i] = {};
    }
    std::vector<State> arrived;
    bool ended = false;
    if (loops) looping_.push_back(branch);
    for (const int way : {target, branch + 1}) {
      State taken = state;
      taken.perhaps = true;
      taken.at = way;
      ended |= explore(std::move(taken), meeting, depth + 1, arrived);
      if (failed_) return Step::Ended;
    }
    if (loops) looping_.pop_back();
    if (arrived.empty() || meeting == static_cast<int>(kernel_.instructions.size())) return Step::Ended;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (!changes[i]) continue;
      const bool same =
          std::ranges::all_of(arrived, [&](const State& each) { return each.registers[i] == arrived[0].registers[i]; });
      state.registers[i] = same ? arrived[0].registers[i] : Value{};
    }
    state.perhaps |= ended;
    state.at = meeting;
    return Step::Next;
  }

  // ---- memory
  // ----------------------------------------------------------------------------------------------------------

  /// Does the instruction look at what others may be writing now? In a loop that memory decides any load may, and any
  /// instruction that is not known: what comes after the loop may be ordered by it.
  [[nodiscard]] bool polls(int at) const {
    const Instruction& instruction = kernel_.instructions[static_cast<std::size_t>(at)];
    const bool reaches = instruction.space == Space::Global || instruction.space == Space::Generic;
    return instruction.op == Op::Other || (reaches && (instruction.op == Op::Atomic || instruction.op == Op::Load));
  }

  /// Notes what the instruction touches. False: the box must be cut first.
  bool touch(State& state, Arithmetic& arithmetic, const Instruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    const bool reaches = instruction.space == Space::Global || instruction.space == Space::Generic;
    const Mode plain_read = instruction.strong ? Mode::Atomic : Mode::Read;
    const Mode plain_write = instruction.strong ? Mode::Atomic : Mode::Write;
    const auto bytes = access_bytes(instruction);
    const bool takes_two = instruction.op == Op::Load || instruction.op == Op::Store || instruction.op == Op::Atomic ||
                           instruction.op == Op::AsyncCopy || instruction.op == Op::BulkCopy;
    if (operands.size() < (takes_two ? 2 : instruction.op == Op::Reduce ? 1 : 0)) {
      fail();
      return true;
    }
    switch (instruction.op) {
      case Op::Load:
        if (!reaches) return true;
        return access(state, arithmetic, instruction, operands[1], bytes, plain_read);
      case Op::Store:
        if (!reaches) return true;
        return access(state, arithmetic, instruction, operands[0], bytes, plain_write);
      case Op::Atomic:
        if (!reaches) return true;
        return access(state, arithmetic, instruction, operands[1], bytes, Mode::Atomic);
      case Op::Reduce:
        if (!reaches) return true;
        return access(state, arithmetic, instruction, operands[0], bytes, Mode::Atomic);
      case Op::AsyncCopy: {
        // [shared], [global], size {, bytes to read, the rest is zero}; a fourth operand may also be a cache policy.
        const bool whole = operands.size() == 3 && operands[2].kind == Kind::Immediate;
        return access(state, arithmetic, instruction, operands[1],
                      whole ? static_cast<std::uint64_t>(operands[2].immediate) : 0, Mode::Read);
      }
      case Op::BulkCopy: {
        std::uint64_t size = 0;
        if (operands.size() > 2) {
          if (const auto found = arithmetic.single(read(state, operands[2]), kWord))
            size = static_cast<std::uint64_t>(*found);
        }
        if (instruction.target_space == Space::Global)
          return access(state, arithmetic, instruction, operands[0], size,
                        instruction.reduces ? Mode::Atomic : Mode::Write);
        if (instruction.space == Space::Global)
          return access(state, arithmetic, instruction, operands[1], size, Mode::Read);
        return true;
      }
      case Op::Call:
        // It may wait, and other threads for this one at a barrier: nothing that comes after it is proved.
        if (!is_harmless_call(instruction)) fail();
        return true;
      case Op::Other:
        for (const Operand& operand : operands) doubt(operand, true);
        return true;
      default:
        return true;
    }
  }

  bool access(State& state, Arithmetic& arithmetic, const Instruction& instruction, const Operand& memory,
              std::uint64_t bytes, Mode mode) {
    const Origin origin = facts_.origin(kernel_, memory);
    // A generic address that is made of a block's own variables only.
    if (instruction.space == Space::Generic && origin.own && !origin.symbol && !origin.loaded && !origin.any_word())
      return true;
    Value address = memory.reg >= 0 ? state.registers[static_cast<std::size_t>(memory.reg)] : Value{};
    if (memory.reg >= 0 && memory.elements.empty()) address = arithmetic.add(address, constant(memory.immediate), 64);
    const auto where = arithmetic.exact(address, kAddress);
    if (arithmetic.cut) return false;
    if (where && bytes > 0 && !state.perhaps) {
      if (!sets_[{origin, mode, true}].add(*where, bytes, state.box)) fail();
      return true;
    }
    if (where && bytes > 0) sets_[{origin, mode, false}].add(*where, bytes, state.box);
    doubt(memory, false);
    return true;
  }

  /// What may be reached through the operand is not known.
  void doubt(const Operand& operand, bool everything) {
    result_.complete = false;
    const Origin origin = facts_.origin(kernel_, operand);
    const bool through_memory = everything || origin.loaded || origin.symbol;
    for (std::size_t word = 0; word < result_.settled.size(); ++word)
      if (origin.contains(word) || (through_memory && facts_.words[word].escapes)) result_.settled[word] = false;
  }

  // ---- registers
  // -------------------------------------------------------------------------------------------------------

  Value read(const State& state, const Operand& operand) const {
    switch (operand.kind) {
      case Kind::Register: {
        const Value& value = state.registers[static_cast<std::size_t>(operand.reg)];
        if (!operand.negated || !value.known()) return value;
        return Arithmetic(state.box).invert(value, 1);
      }
      case Kind::Immediate:
        return constant(operand.immediate);
      case Kind::Special:
        return special(operand.special);
      default:
        return {};
    }
  }

  Value special(Special which) const {
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
  Value parameter(const Instruction& instruction, const Operand& memory, std::size_t element) const {
    const Parameter* parameter = memory.reg < 0 ? kernel_.parameter(memory.symbol) : nullptr;
    const std::size_t bytes = instruction.type.bits / 8;
    if (!parameter || memory.immediate < 0 || bytes == 0 || bytes > 8) return {};
    const std::uint64_t inside = static_cast<std::uint64_t>(memory.immediate) + element * bytes;
    const std::uint64_t offset = parameter->offset + inside;
    if (inside + bytes > parameter->bytes || offset + bytes > launch_.arguments.size()) return {};
    std::uint64_t raw = 0;
    std::memcpy(&raw, launch_.arguments.data() + offset, bytes);
    Wide value = raw;
    if (instruction.type.is_signed && bytes < 8 && raw >> (8 * bytes - 1) != 0) value -= Wide{1} << 8 * bytes;
    return constant(value);
  }

  void assign(State& state, const Operand& operand, Value value, bool doubtful) {
    if (operand.kind != Kind::Register) return;
    state.registers[static_cast<std::size_t>(operand.reg)] = doubtful ? Value{} : value;
  }

  void compute(State& state, Arithmetic& arithmetic, const Instruction& instruction, bool doubtful) {
    const std::vector<Operand>& operands = instruction.operands;
    const auto forget = [&] {
      for_each_result(instruction, [&](int reg) { state.registers[static_cast<std::size_t>(reg)] = {}; });
    };
    if (doubtful || operands.empty() || instruction.op == Op::Other || instruction.op == Op::Call) return forget();
    const Operand& result = operands[0];
    if (instruction.op == Op::Load && instruction.space == Space::Param && operands.size() == 2) {
      if (result.kind == Kind::List) {
        for (std::size_t i = 0; i < result.elements.size(); ++i)
          assign(state, result.elements[i], parameter(instruction, operands[1], i), false);
      } else {
        assign(state, result, parameter(instruction, operands[1], 0), false);
      }
      return;
    }
    if (instruction.op == Op::Set) return set(state, arithmetic, instruction);
    if (instruction.op == Op::Move && result.kind == Kind::List) return unpack(state, arithmetic, instruction);
    if (result.kind != Kind::Register) return forget();
    const Value value = result_of(state, arithmetic, instruction);
    if (arithmetic.cut) return;
    assign(state, result, value, false);
  }

  Value result_of(const State& state, Arithmetic& arithmetic, const Instruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    const auto operand = [&](std::size_t i) { return i < operands.size() ? read(state, operands[i]) : Value{}; };
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
        if (operands.size() == 2 && operands[1].kind == Kind::List) return pack(state, arithmetic, instruction);
        return operand(1);
      default:
        return {};
    }
  }

  /// Of predicates: 0, 1 or unknown.
  static Value logic(const Value& a, const Value& b, Op op) {
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

  void set(State& state, Arithmetic& arithmetic, const Instruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    const Operand& result = operands[0];
    Value answer;
    if (operands.size() > 2 && instruction.type.is_integer && instruction.type == instruction.source_type) {
      Type type = instruction.type;
      if (instruction.compare_unsigned) type.is_signed = false;
      answer = arithmetic.compare(read(state, operands[1]), read(state, operands[2]), type, instruction.compare);
      if (arithmetic.cut) return;
    }
    Value opposite = logic(answer, {}, Op::Not);
    if (instruction.combine) {
      const Op op = instruction.combine == '&' ? Op::And : instruction.combine == '|' ? Op::Or : Op::Xor;
      const Value third = operands.size() > 3 ? read(state, operands[3]) : Value{};
      answer = logic(answer, third, op);
      opposite = logic(opposite, third, op);
    }
    if (result.kind == Kind::List) {
      if (!result.elements.empty()) assign(state, result.elements[0], answer, false);
      if (result.elements.size() > 1) assign(state, result.elements[1], opposite, false);
    } else {
      assign(state, result, answer, false);
    }
  }

  /// mov.b64 %rd, {%low, %high};
  Value pack(const State& state, Arithmetic& arithmetic, const Instruction& instruction) {
    const std::vector<Operand>& parts = instruction.operands[1].elements;
    if (parts.size() != 2 || instruction.type.bits < 16 || instruction.type.bits > 64) return {};
    const unsigned half = instruction.type.bits / 2u;
    const Type type{static_cast<std::uint8_t>(half), false, true};
    const auto low = arithmetic.exact(read(state, parts[0]), type);
    const Value high = read(state, parts[1]);
    if (!low || !high.known() || high.bits < half) return {};
    return arithmetic.add(number(*low, 64), {Value::Kind::Number, 64, multiply(high.form, std::int64_t{1} << half, 64)},
                          instruction.type.bits);
  }

  /// mov.b64 {%low, %high}, %rd;
  void unpack(State& state, Arithmetic& arithmetic, const Instruction& instruction) {
    const std::vector<Operand>& parts = instruction.operands[0].elements;
    const Value whole = instruction.operands.size() > 1 ? read(state, instruction.operands[1]) : Value{};
    Value low, high;
    const Type type{instruction.type.bits, false, true};
    if (parts.size() == 2 && (type.bits == 64 || type.bits == 32)) {
      low = whole.known() && whole.bits >= type.bits / 2 ? number(whole.form, type.bits / 2u) : Value{};
      high = arithmetic.shift(whole, constant(type.bits / 2), type, false);
      if (arithmetic.cut) return;
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
      assign(state, parts[i], i == 0 ? low : i == 1 ? high : Value{}, false);
  }

  const Kernel& kernel_;
  const Facts& facts_;
  const Launch& launch_;
  const Limits& limits_;
  const Flow flow_;
  std::uint64_t steps_;
  bool failed_ = false;
  std::vector<int> looping_;  ///< branches of the loops that are being explored, the innermost last
  /// Bytes are kept apart by what their addresses may come from: pieces of two buffers never become one.
  struct What {
    Origin origin;
    Mode mode;
    bool exact;
    auto operator<=>(const What&) const = default;
  };
  std::map<What, ByteSet> sets_;
  Result result_;
};

}  // namespace

Result evaluate(const Kernel& kernel, const Facts& facts, const Launch& launch, const Limits& limits) {
  if (!kernel.understood || !facts.known) return {};
  return Evaluation(kernel, facts, launch, limits).run();
}

}  // namespace streamsan::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/evaluate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "judge/ptx/accesses.h"
#include "judge/ptx/flow.h"
#include "judge/ptx/registers.h"
#include "judge/ptx/slice.h"
#include "judge/ptx/turns.h"

namespace streamsan::ptx {
namespace {

constexpr int kMostNested = 24;
constexpr std::size_t kMostLiveValues = std::size_t{1} << 20;
constexpr std::uint64_t kCopiedInAStep = 16;  // registers
constexpr std::size_t kMostSpare = 64;

/// Threads that have done the same so far.
struct State : Threads {
  int at = 0;
  bool perhaps = false;  ///< whether they come here depends on what memory contains
};

class Evaluation {
 public:
  Evaluation(const Slice& slice, const Launch& launch, const Limits& limits)
      : kernel_(slice.kernel),
        launch_(launch),
        limits_(limits),
        flow_(slice.flow),
        registers_(kernel_, launch),
        accesses_(slice, registers_),
        turns_(kernel_, limits),
        steps_(limits.steps) {}

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
    Result result{.steps = limits_.steps - steps_, .triggers = triggers_};
    if (failed_ || !accesses_.finish(result, limits_.pieces)) return {.steps = limits_.steps - steps_};
    return result;
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
        if (std::ranges::find(looping_, state.at) != looping_.end()) {
          drop(state);
          break;
        }
        if (state.at == stop) {
          arrived.push_back(std::move(state));
          break;
        }
        if (state.at >= static_cast<int>(kernel_.instructions.size())) {
          ended = true;
          drop(state);
          break;
        }
        if (steps_ == 0) return fail();
        --steps_;
        Arithmetic arithmetic(state.box);
        const int from = state.at;
        const Step step = execute(state, arithmetic, depth);
        if (step == Step::Next && state.at <= from) hurry(state, from, stop);
        if (step == Step::Ended) {
          ended = true;
          drop(state);
          break;
        }
        if (step == Step::Cut) {
          std::vector<Box> parts;
          if (!arithmetic.cut || !cut(state.box, *arithmetic.cut, limits_.boxes, parts) || parts.size() < 2)
            return fail();
          for (std::size_t i = 1; i < parts.size(); ++i) {
            work.push_back(copy_of(state));
            work.back().box = parts[i];
          }
          state.box = parts[0];
          if (work.size() > limits_.boxes || work.size() * state.registers.size() > kMostLiveValues) return fail();
        }
      }
    }
    return ended;
  }

  /// Counts what it costs.
  State copy_of(const State& state) {
    steps_ -= std::min<std::uint64_t>(steps_, state.registers.size() / kCopiedInAStep);
    if (spare_.empty()) return state;
    State copy;
    copy.registers.swap(spare_.back());
    spare_.pop_back();
    copy = state;  // into the memory that is there
    return copy;
  }

  /// Keeps the memory of a state that is not needed any more. A step may need as much again: without that, half of the
  /// time went into pages of memory that came and went.
  void drop(State& state) {
    if (spare_.size() < kMostSpare) spare_.push_back(std::move(state.registers));
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
    switch (accesses_.note(state, arithmetic, instruction, state.perhaps || doubtful)) {
      case Accesses::Answer::Failed:
        fail();
        return Step::Ended;
      case Accesses::Answer::Cut:
        return Step::Cut;
      case Accesses::Answer::Noted:
        break;
    }
    triggers_ |= instruction.sync == Sync::GridTrigger && !state.perhaps && !doubtful;
    registers_.compute(state, arithmetic, instruction, doubtful);
    if (arithmetic.cut) return Step::Cut;
    ++state.at;
    return Step::Next;
  }

  /// Leaves out turns of the loop that the branch at `jump` has just gone back in, if no state is waited for inside.
  void hurry(State& state, int jump, int stop) {
    const Instruction& instruction = kernel_.instructions[static_cast<std::size_t>(jump)];
    const auto inside = [&](int at) { return at >= state.at && at <= jump; };
    if (instruction.op != Op::Branch || instruction.target != state.at) return;
    if (inside(stop) || std::ranges::any_of(looping_, inside)) return;
    if (const auto at = turns_.leave_out(state, jump)) state.at = *at;
  }

  static bool is_assertion(const Instruction& instruction) {
    return std::ranges::any_of(instruction.operands,
                               [](const Operand& operand) { return operand.symbol == "__assertfail"; });
  }

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
      State taken = copy_of(state);
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
    for (State& each : arrived) drop(each);
    state.perhaps |= ended;
    state.at = meeting;
    return Step::Next;
  }

  /// Does the instruction look at what others may be writing now? In a loop that memory decides any load may, and any
  /// instruction that is not known: what comes after the loop may be ordered by it.
  [[nodiscard]] bool polls(int at) const {
    const Instruction& instruction = kernel_.instructions[static_cast<std::size_t>(at)];
    const bool reaches = may_be_global(instruction.space);
    return instruction.op == Op::Other || is_of_texture(instruction.op) ||
           (reaches && (instruction.op == Op::Atomic || instruction.op == Op::Load));
  }

  const Kernel& kernel_;
  const Launch& launch_;
  const Limits& limits_;
  const Flow& flow_;
  const Registers registers_;
  Accesses accesses_;
  Turns turns_;
  std::uint64_t steps_;
  bool failed_ = false;
  bool triggers_ = false;
  std::vector<std::vector<Value>> spare_;  ///< memory of states that are gone
  std::vector<int> looping_;               ///< branches of the loops that are being explored, the innermost last
};

}  // namespace

Result evaluate(const Slice& slice, const Launch& launch, const Limits& limits) {
  return Evaluation(slice, launch, limits).run();
}

Result evaluate(const Kernel& kernel, const Facts& facts, const Launch& launch, const Limits& limits) {
  const std::optional<Slice> slice = slice_of(kernel, facts);
  return slice ? evaluate(*slice, launch, limits) : Result{};
}

}  // namespace streamsan::ptx

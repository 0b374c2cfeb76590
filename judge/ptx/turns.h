// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns of a loop that need not be run, because nothing is seen of them: THE LOOPS of evaluate.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "judge/ptx/evaluate.h"
#include "judge/ptx/kernel.h"
#include "judge/ptx/registers.h"

namespace streamsan::ptx {

class Turns {
 public:
  Turns(const Kernel& kernel, const Limits& limits) : kernel_(kernel), limits_(limits) {}

  /// The threads have just jumped back at the branch `jump`. Makes their registers those of a later turn of that loop,
  /// or of its end, if that is worth it. The instruction they are at then; nothing: they are where they were.
  std::optional<int> leave_out(Threads& threads, int jump);

 private:
  /// The instructions from `first` to `jump`, with one way out.
  struct Loop {
    int first = 0;
    int jump = 0;
    int compare = 0;  ///< the setp that decides
    int behind = 0;   ///< where it is left to
    Compare stays = Compare::None;
    std::vector<bool> sure;    ///< from `first` on: each turn comes here, once
    std::vector<int> changes;  ///< registers that may be written, in order
    std::vector<Loop> inner;   ///< loops inside, which have none

    /// Where a register stands in `changes`; nothing: it is not written.
    [[nodiscard]] std::optional<std::size_t> place_of(int reg) const;
    [[nodiscard]] bool may_write(int reg) const { return place_of(reg).has_value(); }
  };
  /// What a register holds, by what `base` held when the turn began.
  struct Drift {
    static constexpr int kUnknown = -1, kNumber = -2;
    int base = kUnknown;
    Wide by = 0;
    unsigned bits = 0;  ///< of the sums; 0: there was none
    bool operator==(const Drift&) const = default;
  };
  using Drifts = std::vector<Drift>;  ///< of each register in `changes`; its own base as long as it was not written
  /// One turn, in general.
  struct Turn {
    Drifts drifts;               ///< at its end
    Drifts at_compare;           ///< at the setp
    std::vector<bool> settled;   ///< of each register in `changes`: it was written for sure
    std::vector<bool> carried;   ///< its value from the turn before may be looked at
    std::vector<bool> doubtful;  ///< it may keep that, or get a known one
    bool ends = true;            ///< the loops inside do, for all threads
  };
  struct Side {
    Value start;
    Wide step = 0;
  };
  struct Count {
    Wide least = 0;  ///< turns that all threads make
    Wide most = 0;   ///< turns that no thread exceeds, if it `ends`
    bool ends = false;
  };

  [[nodiscard]] const Instruction& at(int index) const { return kernel_.instructions[static_cast<std::size_t>(index)]; }
  [[nodiscard]] std::optional<Loop> find(int jump, bool with_inner) const;
  [[nodiscard]] bool add_inner(Loop& loop, int jump) const;
  [[nodiscard]] bool decide(Loop& loop, int way_out) const;
  [[nodiscard]] Turn walk(const Threads& threads, const Loop& loop) const;
  void pass(const Threads& threads, const Loop& loop, int index, Turn& turn) const;
  [[nodiscard]] static Drift drift_of(const Threads& threads, const Loop& loop, const Drifts& drifts,
                                      const Instruction& instruction);
  [[nodiscard]] static Drift find(const Loop& loop, const Drifts& drifts, int reg);
  static void merge(Drifts& into, const Drifts& other);
  [[nodiscard]] bool surely_ends(const Threads& threads, const Loop& outer, const Drifts& before,
                                 const Loop& inner) const;
  [[nodiscard]] std::optional<Count> count(const Threads& threads, const Loop& loop, const Turn& turn) const;
  [[nodiscard]] static std::optional<Side> side(const Threads& threads, const Loop& loop, const Turn& turn,
                                                const Operand& operand, Type type);
  [[nodiscard]] static std::optional<Count> count(const Threads& threads, Compare stays, const Side& moving,
                                                  const Value& bound, Type type);
  static void advance(Threads& threads, const Loop& loop, const Turn& turn, Wide turns);

  const Kernel& kernel_;
  const Limits& limits_;
  std::map<int, std::optional<Loop>> loops_;  ///< by their jumps
};

}  // namespace streamsan::ptx

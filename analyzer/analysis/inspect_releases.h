// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a tensor against work that still uses it.
//
// A tensor's block goes back to its allocator in the order of the stream that it was allocated on, its home. That
// another stream still uses it is no fault yet: the next tensor of the home stream may be given the block, and only
// what is done to that one races. Code that forks and joins in each turn lets the home stream wait before: the tensor
// ends in between, no allocator knows of the other stream, and all is in order. So a release that is not in order is
// held back until it is seen what the home stream does next:
//
//   allocates             the block may be given out: reported
//   waits for the use     before it allocates, or before the function ends: silent. So it is where the wait is in a
//                         destructor that runs after the tensor's, and at the back edge of a loop whose next turn
//                         begins with the wait
//   neither               the function ends: reported
//
// The report is Maybe if the release is in order on one path and not on another, as after the last turn of such a loop;
// or if it is not certain that something orders it (a wait on one path only, an unknown call). What follows the end of
// the function is up to the caller, but some of that is in sight. A release that is still unordered at the end of the
// function is Maybe, too, in three cases:
//
//   * Another function of the translation unit calls this one, and there the release is in order (Settled).
//   * All work of the home stream in this function comes after the record that owe() puts at the begin (duties.h), and
//     that record is on the stream of the use: when the function is called again, the home stream waits for the use.
//   * An event is recorded behind the use, and before the home stream allocates in this function it waits for that
//     event, as the last call recorded it.
//
// Work of the home stream that allocates nothing is harmless: nobody is given the block. A kernel and calls that are
// not known are taken to allocate nothing.
//
// The state between the two is a Pending with kReturned (order_memory.cpp): the use, with the release as its memory.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/analysis/look.h"

namespace streamsan::analyzer {

/// Two sites, the end of a tensor and a use, that a function shows to be in order.
using Settled = std::pair<Where, Where>;

class ReleaseQuestions : Questions {
 public:
  using Questions::Questions;

  /// At any op.
  void ask();
  /// `use` is not in order with the release that is looked at, which `raised` says.
  void hold(const Pending& use, Raised raised);
  /// All ops were asked about: what remains is raised.
  void conclude();
  [[nodiscard]] const std::vector<Settled>& settled() const { return settled_; }

 private:
  /// What follows a release.
  struct Held {
    std::optional<Raised> raised;  ///< none yet: of a loop, what follows is looked at first
    bool given_out = false;        ///< on some path from here its block may be handed out
    bool surely = false;           ///< on that path it is certainly out of order
    bool in_order = false;         ///< on some path from here
    bool open = false;             ///< on some path the function ends first
    bool perhaps = false;          ///< at the end of the function it may be in order
    Pending at_end;                ///< the use, as it is at the end of the function
  };
  /// The home stream may hand the block out, or (`ends`) the function ends.
  void judge(const Pending& use, bool ends);
  /// Called again, the function lets the home stream wait for the use.
  [[nodiscard]] bool in_order_next_time(const Pending& use) const;
  /// The record at the begin; nullptr: there is none.
  [[nodiscard]] const Pending* entry() const;
  /// The stream works.
  void works(ValueId stream);

  std::map<std::pair<OpIndex, OpIndex>, Held> held_;  ///< by release and use
  OpIndex entry_ = kNoOp;
  ValueId caller_ = kUnknown;
  std::map<ValueId, bool> forked_;  ///< by stream that works: all of it comes after the record at the begin
  std::set<ValueId> allocates_;
  std::set<std::pair<ValueId, ValueId>> first_waits_;  ///< stream, event of before: before it allocates
  std::vector<Settled> settled_;
};

}  // namespace streamsan::analyzer

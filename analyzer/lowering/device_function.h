// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device function does with the memory it is given: its Summary, in terms of its own parameters.
//
// A Summary is made once and applied at each call: `put(float* p)` that writes `p.*` writes `out.*` in a caller that
// passes `out + i`. Member functions, lambdas and functors are no special case: they have one parameter more, kThis.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/device_bounds.h"
#include "analyzer/lowering/device_grid_wait.h"
#include "analyzer/lowering/device_memory.h"
#include "clang/Basic/SourceLocation.h"

namespace clang {
class FunctionDecl;
}

namespace streamsan::analyzer::device {

inline constexpr std::uint8_t kEarlyRead = 1, kEarlyWrite = 2, kEarlyAtomic = 4, kEarlyUnknown = 8;

struct Effect {
  bool reads = false;
  bool writes = false;
  bool atomics = false;
  bool unknown = false;
  bool always = false;  ///< at least one access is at a place and under conditions that no memory decides
  // Before the function, or what it was called from, has waited for the grid in front: bits of kEarly*.
  std::uint8_t early = 0;          ///< where no path that leads there has waited
  std::uint8_t perhaps_early = 0;  ///< where some path has
  clang::SourceLocation early_at;  ///< one of the former, or else of the latter
  Begin begin;                     ///< where in the memory, of all accesses
  Begin early_begin;               ///< of those that are early or perhaps early
  friend bool operator==(const Effect&, const Effect&) = default;
};

/// Every Path in it starts at a parameter (a ParmVarDecl of the definition), at kThis, or at a variable on the device.
struct Summary {
  std::map<Path, Effect> effects;  ///< by place touched; a place of depth 0 is an object that escapes with its pointers
  std::map<Path, Paths> stores;    ///< pointers left behind in the caller's objects
  std::map<Path, Paths> copies;    ///< the same for whole objects
  Paths returns;                   ///< a pointer or reference: what it points to; an object: what it is a copy of
  std::map<std::vector<const clang::FieldDecl*>, Paths> returned_fields;  ///< pointers in a returned object
  MovedFields moved;                                                      ///< in terms of its own parameters
  bool ends = false;                                                      ///< some threads end in it
  std::set<unsigned> deciders;  ///< parameters whose value decides whether or where there are accesses
  bool unknown = false;         ///< too big to be followed: anything may happen to what it reaches
  Flow exits = kNowhere;        ///< where it returns, called before any wait for the grid in front
  ir::Certainty triggers_first = ir::Certainty::No;  ///< lets dependents begin before it has waited
  bool triggers = false;                             ///< lets dependents begin, at all
  bool touches_after_trigger = false;                ///< by the order of the source: memory that is not its own
  friend bool operator==(const Summary&, const Summary&) = default;
};

class Summaries {
 public:
  /// The summary of a function. nullptr: it has no body that can be read (a template's pattern, say).
  std::shared_ptr<const Summary> of(const clang::FunctionDecl& function);

  /// What the text of the function has of marks_in(), the same for all instances of a template.
  const std::vector<Mark>& marks(const clang::FunctionDecl& definition);

  /// Allows another kernel its share of work.
  void refill() { statements_left_ = kMostStatements; }
  /// One statement is about to be visited. False: the share is used up.
  bool spend() { return statements_left_ != 0 && --statements_left_ != 0; }

 private:
  static constexpr std::size_t kMostStatements = 60'000;
  static constexpr std::size_t kDeepestCalls = 40;

  struct Open {
    const clang::FunctionDecl* function = nullptr;
    std::shared_ptr<const Summary> so_far;
    bool unsettled = false;  ///< used the summary so far of a function further out: not to be kept
    bool met_again = false;  ///< its summary so far was used
  };
  std::size_t statements_left_ = kMostStatements;
  std::vector<Open> open_;
  std::unordered_map<const clang::FunctionDecl*, std::shared_ptr<const Summary>> done_;
  std::unordered_map<unsigned, std::vector<Mark>> marks_;  ///< by the location of a body
};

}  // namespace streamsan::analyzer::device

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs that two judges can read: as a script for the analyzer's engine (script.h), and as calls to the
// reference model of the order (ordering/tests/reference_model.h). So the analyzer has no definition of the order of
// its own to be tested against.
//
// A program has six segments. In a straight one they follow each other; in a branching one segment 1 may be skipped and
// segments 3 and 4 are alternatives, and each path is driven through the reference by itself. A query succeeds always
// or never: of two outcomes that is the most and the least order.
//
// Two things are kept out, because the reference speaks of programs that run: an event is recorded in streams of its
// own device only (R-EVT-02), and what cudaFree() or free() ends gets a new life at once.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "ordering/tests/reference_model.h"

namespace streamsan::analyzer::testing {

/// What a random program may be made of.
struct Mixture {
  bool branches = false;
  bool devices = false;          ///< two; else one, whose number is never stated
  bool unknown_devices = false;  ///< devices that are set without a constant
  bool memory = false;           ///< copies, fills, host accesses, frees of all kinds of memory; else launches alone
};

/// What the engine takes for more order, or less, than the reference has, on purpose.
enum class Difference : std::uint8_t {
#define SS_DIFFERENCE(enumerator, id, what, why) enumerator,
#include "analyzer/analysis/tests/reference_differences.def"
#undef SS_DIFFERENCE
  Count,
};
using Differences = std::bitset<static_cast<std::size_t>(Difference::Count)>;

struct Statement {
  enum class Kind : std::uint8_t {
    Launch,
    Record,
    Wait,
    Sync,
    SyncEvent,
    Device,
    Query,
    QueryEvent,
    HostFunction,
    Copy,
    Fill,
    Host,
    Free,       ///< and a new life
    FreeAsync,  ///< and a new life, or none
    SetDevice,
  };
  Kind kind{};
  unsigned stream = 0;  ///< 0 the legacy stream, 1 per-thread; 2, 3 of device 0, 4, 5 of device 1: blocking, and not
  unsigned event = 0;   ///< 0, 1 of device 0, 2, 3 of device 1
  unsigned memory = 0, source = 0;  ///< number of a variable, see random_script.cpp
  unsigned device = 0;              ///< SetDevice: the one it becomes
  bool writes = false;
  bool synchronous = false;  ///< a copy, a fill
  bool known = true;         ///< SetDevice: by a constant; FreeAsync: the memory lives again
};

/// What the reference says of two statements and a variable, on one path.
struct JudgedPair {
  int earlier = 0, later = 0;  ///< lines of the script
  std::string variable;
  ordering::HazardKind kind{};
  ordering::Order order{};
  bool certain = true;
};

struct Judged {
  std::vector<JudgedPair> pairs;
  std::vector<int> lines;  ///< that were run
};

class RandomScript {
 public:
  RandomScript(unsigned seed, Mixture mixture);

  /// `loops`: two of the ways lead back.
  [[nodiscard]] std::string text(bool loops = false) const;
  [[nodiscard]] std::vector<std::vector<unsigned>> paths() const;
  /// `differences`: those in order are played, too.
  [[nodiscard]] Judged judge(const std::vector<unsigned>& path, bool queries_succeed, Differences differences) const;
  [[nodiscard]] bool has_queries() const;

 private:
  Mixture mixture_;
  std::vector<std::vector<Statement>> segments_;
  mutable int allocations_ = 0;                  ///< line of the first one
  mutable std::vector<std::vector<int>> lines_;  ///< of the statements, as text() has put them
};

}  // namespace streamsan::analyzer::testing

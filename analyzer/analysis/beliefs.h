// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of streams that are assumed to differ, although nothing proves it, and the reason for each.
//
// values.h says which streams are proved to differ. These pairs are believed to differ as well:
//
//   * a stream that a class creates for itself, or takes from a pool, and never gives out; and a stream that came from
//     outside;
//   * a stream from a function whose name says that it returns new ones; and a stream that came from outside;
//   * two streams from outside that the code treats as two (roles.h): one waits for the other, either in this function
//     or its callees, without a condition, or somewhere else in the translation unit.
//
// Nothing is believed of a pair that may be one stream by what the translation unit does with it (Roles::perhaps_one).
//
// The engine runs a second time under these beliefs if the first run found accesses that do not conflict only because
// their streams may be one. A finding of the second run that the first did not have is Likely and carries the
// evidence.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/analysis/roles.h"
#include "analyzer/analysis/store.h"
#include "analyzer/analysis/values.h"
#include "analyzer/analysis/witness.h"

namespace streamsan::analyzer {

class Beliefs {
 public:
  Beliefs(const Values& values, const Roles& roles) : values_(values), roles_(roles), witness_(values) {}

  /// Collects what the op says about its streams. Must be called for all ops before the beliefs are asked.
  void see(Values& values, const Store& store, OpIndex index);
  /// Called when all ops were seen.
  void conclude();

  [[nodiscard]] bool two(ValueId a, ValueId b) const;
  [[nodiscard]] std::optional<Evidence> why(ValueId a, ValueId b) const;
  /// The evidence of one belief that an answer depended on; nullopt: none did.
  [[nodiscard]] std::optional<Evidence> any() const;

 private:
  struct Use {
    ValueId event;
    ValueId stream;
    OpIndex op;
  };
  enum class Origin : std::uint8_t {
    Other,
    Outside,  ///< it existed when the function was entered
    Own,      ///< created, or taken from a pool, by the class that keeps it
    Taken,    ///< returned by a call whose name says that it is for the caller alone
  };
  [[nodiscard]] Origin origin(ValueId stream) const;
  [[nodiscard]] Slot slot(ValueId stream) const;
  [[nodiscard]] std::optional<Evidence> find(ValueId a, ValueId b) const;
  [[nodiscard]] std::string name(ValueId stream) const;

  using Pair = std::pair<ValueId, ValueId>;
  static Pair pair(ValueId a, ValueId b) { return a < b ? Pair{a, b} : Pair{b, a}; }

  const Values& values_;
  const Roles& roles_;
  Witness witness_;
  std::vector<Use> records_, waits_;
  std::map<Pair, std::pair<const char*, OpIndex>> here_;
  mutable std::map<Pair, bool> known_;
  mutable std::optional<Pair> used_;
};

}  // namespace streamsan::analyzer

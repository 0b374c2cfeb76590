// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of one function that are taken for two although nothing proves it, and why.
//
// Proved is what values.h says. Believed, besides, are:
//
//   * a stream that a class creates for itself, or takes from a pool, and never gives out, and one that came from
//     outside;
//   * a stream that is got from a function that gives out new ones by its name, and one that came from outside;
//   * two streams from outside that the code treats as two (roles.h): in this function, with its callees, one waits
//     for the other, under no condition; or somewhere in the translation unit.
//
// Nothing is believed of two that may be one by what the translation unit does with them (Roles::perhaps_one).
//
// The engine runs a second time under these beliefs where the first run has found accesses that only names keep from
// being a conflict; what it finds then, and not before, is Likely and carries the evidence.
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

  /// Collects what `index` says of its streams. All ops, before anything is asked.
  void see(Values& values, const Store& store, OpIndex index);
  /// All is seen.
  void conclude();

  [[nodiscard]] bool two(ValueId a, ValueId b) const;
  [[nodiscard]] std::optional<Evidence> why(ValueId a, ValueId b) const;
  /// One that was made use of.
  [[nodiscard]] std::optional<Evidence> any() const;

 private:
  struct Use {
    ValueId event;
    ValueId stream;
    OpIndex op;
  };
  enum class Origin : std::uint8_t {
    Other,
    Outside,  ///< it was there when the function was entered
    Own,      ///< created, or taken from a pool, by the class that keeps it
    Taken,    ///< by a call whose name says that it is for the caller alone
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recorder without a trace file, for tests of what writes records: they are kept here.
#pragma once

#include <vector>

#include "trace/format.h"

namespace streamsan::testing {

struct KeptRecord {
  trace::Kind kind;
  std::uint64_t w[trace::kRecordWords];

  /// As in the record itself.
  template <trace::Kind kKind>
  [[nodiscard]] const trace::Words<kKind>& as() const {
    return *reinterpret_cast<const trace::Words<kKind>*>(w);
  }
};

/// What was published since the last call.
std::vector<KeptRecord> take_records();

}  // namespace streamsan::testing

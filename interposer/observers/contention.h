// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that order streams or use memory, for those who choose what to measure (interposer/contention.h). Launches are
// followed in launch.cpp.
#pragma once

#include "interposer/call.h"
#include "interposer/contention.h"
#include "interposer/observers/records.h"

namespace streamsan::recorder {

template <class Call>
class Contention {
 public:
  static constexpr bool kWatches =
      (BeginRecords<Call>::kWatches || EndRecords<Call>::kWatches) && !is_noted(Call::kKind);
  SS_OBSERVER void after(Call& call) {
    if (learning()) follow_call(*call.words);
  }
  SS_OBSERVER void failed(Call&) {}
};

}  // namespace streamsan::recorder

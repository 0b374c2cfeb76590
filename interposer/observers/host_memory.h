// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory of a call: the call lends it to an operation, frees it, or waits until its operations are done
// (host/host_side.h).
#pragma once

#include "interposer/batches.h"
#include "interposer/call.h"
#include "interposer/host/host_side.h"
#include "interposer/observers/records.h"

namespace streamsan::recorder {

template <class Call>
class HostMemory {
 public:
  static constexpr bool kWatches = BeginRecords<Call>::kWatches || EndRecords<Call>::kWatches;
  SS_OBSERVER void before(Call& call) {
    if constexpr (BeginRecords<Call>::kWatches) host_side_before(*call.words);
  }
  SS_OBSERVER void after(Call& call) {
    if constexpr (!is_noted(Call::kKind)) host_side_after(*call.words, call.callers_stack);
    if constexpr (Call::kEffect.batch == api::Batch::Copies) {
      BatchParts<Call::kRow, typename Call::Arguments> parts(call.arguments);
      for (std::size_t i = 0; i < parts.count(); ++i) host_side_of_part(*call.words, parts(i), call.callers_stack);
    }
  }
  SS_OBSERVER void failed(Call&) {}
};

}  // namespace streamsan::recorder

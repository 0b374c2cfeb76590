// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which calls make the host wait for the GPU. What counts, and by which rules, stands in hidden_syncs.h.
#pragma once

#include <optional>

#include "judge/hidden_syncs.h"
#include "judge/places.h"
#include "ordering/model.h"
#include "trace/reader.h"

namespace streamsan::judge {

struct WaitingCall {
  Wait wait{};
  bool of_stream = false;  ///< for the work of the record's stream, and nothing else
};

/// Why the call of the record waits; nullopt: it does not, it failed, or it is no call. `model`: before the call.
std::optional<WaitingCall> waiting_call(const trace::Item& item, const Places& places, const ordering::Model& model);

}  // namespace streamsan::judge

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Footprint records: each distinct footprint is written once and has an id from then on.
#pragma once

#include <cstdint>

#include "interposer/pieces.h"

namespace streamsan::recorder {

/// Id of the footprint with these pieces; writes its records if it is new, and a record for memory that no argument
/// points to (module variables), of which the judge would not know. One thread at a time.
std::uint32_t footprint_id(const PieceList& pieces, bool incomplete);

}  // namespace streamsan::recorder

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Footprint records: each distinct footprint is written once and has an id from then on.
#pragma once

#include <cstdint>
#include <span>

#include "interposer/pieces.h"

namespace streamsan::recorder {

/// Id of the footprint with these pieces and trace::FootprintFlags; writes its records if it is new. If it was
/// measured, a record as well for memory that no argument points to (module variables), of which the judge would not
/// know. 0: the trace has no room, or another thread that is stopped is about to write one.
std::uint32_t footprint_id(std::span<const trace::Piece> pieces, std::uint64_t flags);

}  // namespace streamsan::recorder

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between the device and memory of the host that is not pinned: which ones they are, and from what size on the
// driver makes the host wait. For the hints about them (hints_copies.h) and for parts of the program that must not wait
// (hidden_syncs.h).
#pragma once

#include <cstdint>

#include "ordering/model.h"
#include "trace/reader.h"

namespace streamsan::judge {

/// Up to so many bytes a copy from pageable memory is staged at once, and does not wait for the device (R-CPY-13).
constexpr std::uint64_t kStagedAtOnce = std::uint64_t{64} << 10;

enum class PageableWay : std::uint8_t { None, ToDevice, ToHost };

/// The way of a copy between the device and pageable memory; None: its other side is something else. A call that says
/// by its name which way it copies, such as cuMemcpyHtoDAsync, has that way only.
PageableWay pageable_way(const trace::Record& copy, const ordering::Model& model);

}  // namespace streamsan::judge

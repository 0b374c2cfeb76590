// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recorder's side of an agent (footprints/agent.h): finding it, and what it may ask for.
#pragma once

#include <cstdint>

#include "interposer/footprints/agent.h"

namespace streamsan::recorder {

/// Loads and starts the agent the options ask for. nullptr: there is none, and `problem` says why, or is null if none
/// is wanted.
const StreamSanAgent* load_agent(const char*& problem);

/// Path of a library that lies beside this one. False: it is not known where that is.
bool beside_this_library(const char* name, char (&path)[1200]);

/// The allocation around a device address, as the driver knows it. False: it knows none.
bool address_range(std::uint64_t address, std::uint64_t& begin, std::uint64_t& end);

}  // namespace streamsan::recorder

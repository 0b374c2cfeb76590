// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Is the file at a module's path still the one that was recorded?
//
// Linkers put a note into each binary, NT_GNU_BUILD_ID, that is a hash of its contents. The recorder keeps the one it
// finds in memory; a file with another one was built since, and its functions and lines would be wrong for the recorded
// addresses. If either side has no build id, the file is assumed to be the same.
#pragma once

#include <cstdint>
#include <string>

namespace streamsan::judge {

/// The build id of the ELF file, as raw bytes; empty: it has none, or is no 64-bit ELF file that can be read.
std::string build_id_of(const std::string& path);

enum class Standing : std::uint8_t { Same, Rebuilt, Missing };

/// `recorded`: raw bytes of the build id in the trace, or empty.
Standing standing_of(const std::string& path, const std::string& recorded);

}  // namespace streamsan::judge

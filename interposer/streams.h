// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and contexts as the recorder needs them: which stream a handle means, and a StreamCreate record for every
// handle that appears in a trace, also for streams whose creation was not seen (made by a function this build does not
// know).
#pragma once

#include <cstdint>

#include "ordering/api/row.h"

namespace streamsan::recorder {

/// A stream argument, resolved. Special handles belong to the context that is current to the calling thread (R-STR-35);
/// for others the context stands in their StreamCreate record.
struct StreamArgument {
  std::uint64_t handle;   ///< never 0: trace::kLegacyStream, trace::kPerThreadStream or a CUstream
  std::uint64_t context;  ///< 0 unless the handle is special
  std::uint16_t flags;    ///< trace::kImplicitStream if the program passed 0 or nothing
};

StreamArgument resolve_stream(std::uint64_t handle, api::DefaultStream meaning_of_zero);

/// The same for a handle that may be none: 0 instead of one that is not known.
StreamArgument known_stream(std::uint64_t handle, api::DefaultStream meaning_of_zero);

/// Also makes it known, with its device, when the thread meets it for the first time.
std::uint64_t current_context();
/// A context is about to end, or perhaps.
void context_dies();

/// Was it made with CU_STREAM_NON_BLOCKING? Special handles are not.
bool is_non_blocking(std::uint64_t handle);
/// The stream's context; 0: not known.
std::uint64_t context_of(const StreamArgument& stream);
/// Does the stream take part in a capture? Then what is submitted is not run, and our own calls would end up in the
/// program's graph. Also true if the driver does not tell.
bool is_being_captured(StreamArgument stream);

/// A stream was made: writes its record. `stack`: of the call that made it; 0: that was not seen.
void stream_created(std::uint64_t handle, std::uint16_t api, std::uint32_t stack);
/// The handle is about to be given back to the driver.
void stream_going(std::uint64_t handle);

}  // namespace streamsan::recorder

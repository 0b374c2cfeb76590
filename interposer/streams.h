// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and contexts: finds out which stream a handle means. Every handle in a trace has a StreamCreate record, even
// if the stream was created by a function that this build does not know.
#pragma once

#include <cstdint>

#include "ordering/api/row.h"

namespace streamsan::recorder {

/// A stream argument, resolved. The special handles mean a stream of the context that is current to the calling thread
/// (R-STR-35). The context of any other handle stands in its StreamCreate record.
struct StreamArgument {
  std::uint64_t handle;   ///< never 0: trace::kLegacyStream, trace::kPerThreadStream or a CUstream
  std::uint64_t context;  ///< 0 unless the handle is special
  std::uint16_t flags;    ///< trace::kImplicitStream if the program passed 0 or nothing
};

StreamArgument resolve_stream(std::uint64_t handle, api::DefaultStream meaning_of_zero);

/// The same, but if the handle is not known, the result has the handle 0: there may be no such stream.
StreamArgument known_stream(std::uint64_t handle, api::DefaultStream meaning_of_zero);

/// The context that is current to this thread. If it is new to the thread, a record says which device it is of.
std::uint64_t current_context();
/// To be called before a call that destroys a context, or may do so.
void context_dies();

/// True if the stream was made with CU_STREAM_NON_BLOCKING. The special handles were not.
bool is_non_blocking(std::uint64_t handle);
/// The stream's context; 0: not known.
std::uint64_t context_of(const StreamArgument& stream);
/// True if the stream takes part in a capture, or the driver does not say. Work submitted to it then does not run, and
/// our own calls would become part of the program's graph.
bool is_being_captured(StreamArgument stream);

/// Writes the record of a stream that was made. `stack` is that of the call that made it; 0: the call was not seen.
void stream_created(std::uint64_t handle, std::uint16_t api, std::uint32_t stack);
/// To be called before the stream is destroyed.
void stream_going(std::uint64_t handle);

}  // namespace streamsan::recorder

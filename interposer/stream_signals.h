// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of order between streams that a call makes in another way than by events. Annotations make records of the
// same kinds (annotations.cpp): a stream signals an object, and what awaits it comes after that. An object that no
// annotation names is unlike_address().
#pragma once

#include <cstdint>

#include "interposer/process.h"
#include "interposer/streams.h"
#include "interposer/unlike_address.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

/// A record of something in a stream, to be filled and published; its flags are none.
inline Slot start_in_stream(trace::Kind kind, const StreamArgument& stream, std::uint16_t api, std::uint32_t stack) {
  Slot slot = start_record({.kind = kind, .api = api, .stack = stack});
  if (!slot) return slot;
  slot.record->in_stream() = {stream.handle, stream.context};
  return slot;
}

}  // namespace streamsan::recorder

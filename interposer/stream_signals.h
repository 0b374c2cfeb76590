// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of order between streams that a call makes in another way than by events. Annotations make records of the same
// kinds (annotations.cpp): a stream signals an object, and what awaits it comes after that.
#pragma once

#include <cstdint>

#include "interposer/process.h"
#include "interposer/streams.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

/// An object that no annotation names: theirs are addresses of the program.
constexpr std::uint64_t own_object(std::uint64_t number) { return number | std::uint64_t{1} << 63; }

/// A record of something in a stream, to be filled and published; its flags are none.
inline Slot start_in_stream(trace::Kind kind, const StreamArgument& stream, std::uint16_t api, std::uint32_t stack) {
  Slot slot = reserve(0);
  if (!slot) return slot;
  slot.record->kind = kind;
  slot.record->api = api;
  slot.record->thread = thread_number();
  slot.record->stack = stack;
  slot.record->in_stream() = {stream.handle, stream.context};
  return slot;
}

}  // namespace streamsan::recorder

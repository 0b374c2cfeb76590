// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/launch.h"

#include <cstddef>
#include <cstring>

#include "interposer/functions.h"
#include "interposer/handle_table.h"
#include "interposer/process.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

constexpr unsigned kMostWords = 256;  // a kernel with more pointers than this loses the rest: a race may be missed

struct Arguments {
  std::uint64_t words[kMostWords];
  unsigned count = 0;
  std::uint64_t hash = 0;

  void parameter(unsigned index, const char* bytes, std::uint32_t size) {
    std::uint32_t at = 0;
    for (; at + 8 <= size; at += 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes + at, 8);
      hash = mix_bits(hash ^ word);
      if (may_be_pointer(word) && count < kMostWords) words[count++] = trace::pointer_word(index, word, size > 8);
    }
    if (at < size) {
      std::uint64_t rest = 0;
      std::memcpy(&rest, bytes + at, size - at);
      hash = mix_bits(hash ^ rest);
    }
  }
};

/// The packed buffer of the `extra` form: {POINTER, buffer, SIZE, &size, END}.
struct PackedBuffer {
  const char* bytes = nullptr;
  std::size_t size = 0;
};

PackedBuffer find_packed(void** extra) {
  // Values of CU_LAUNCH_PARAM_END, _BUFFER_POINTER and _BUFFER_SIZE: part of the driver's ABI.
  constexpr std::uintptr_t kEnd = 0;
  constexpr std::uintptr_t kPointer = 1;
  constexpr std::uintptr_t kSize = 2;
  PackedBuffer found;
  for (; extra && reinterpret_cast<std::uintptr_t>(*extra) != kEnd; extra += 2) {
    auto tag = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (tag == kPointer) found.bytes = static_cast<const char*>(extra[1]);
    if (tag == kSize) found.size = *static_cast<const std::size_t*>(extra[1]);
    if (tag != kPointer && tag != kSize) break;
  }
  return found;
}

void read_arguments(const Function& function, const LaunchCall& call, Arguments& out) {
  if (call.params) {
    for (unsigned i = 0; i < function.count; ++i)
      out.parameter(i, static_cast<const char*>(call.params[i]), function.parameters[i].size);
    return;
  }
  PackedBuffer packed = find_packed(call.extra);
  if (!packed.bytes) return;
  for (unsigned i = 0; i < function.count; ++i) {
    const Parameter& parameter = function.parameters[i];
    if (std::size_t{parameter.offset} + parameter.size > packed.size) break;
    out.parameter(i, packed.bytes + parameter.offset, parameter.size);
  }
}

}  // namespace

void record_launch(const LaunchCall& call) {
  const Function* function = function_info(call.function);
  Arguments arguments;
  std::uint64_t threads = 1;
  for (std::uint64_t extent : call.extents) {
    threads *= extent;
    arguments.hash = mix_bits(arguments.hash ^ extent);
  }
  if (function) read_arguments(*function, call, arguments);
  Slot slot = reserve((arguments.count + trace::kContinuationWords - 1) / trace::kContinuationWords);
  if (!slot) return;
  trace::Record& record = *slot.record;
  record.kind = trace::Kind::Launch;
  record.api = call.api;
  record.flags = static_cast<std::uint16_t>(call.stream.flags | (call.programmatic ? trace::kProgrammatic : 0));
  record.thread = thread_number();
  record.stack = call.stack;
  record.w[0] = call.stream.handle;
  record.w[1] = call.stream.context;
  record.w[2] = function ? function->id : 0;
  record.w[3] = threads;
  record.w[4] = arguments.hash;
  record.w[5] = arguments.count;
  if (arguments.count) std::memcpy(slot.continuation(), arguments.words, arguments.count * sizeof arguments.words[0]);
  publish(slot);
}

void record_event_of_launch(const LaunchCall& call, std::uint64_t event, std::uint64_t flags) {
  Slot slot = reserve(0);
  if (!slot) return;
  trace::Record& record = *slot.record;
  record.kind = trace::Kind::EventRecord;
  record.api = call.api;
  record.flags = call.stream.flags;
  record.thread = thread_number();
  record.stack = call.stack;
  record.w[0] = call.stream.handle;
  record.w[1] = call.stream.context;
  record.w[2] = event;
  record.w[3] = flags;
  publish(slot);
}

}  // namespace streamsan::recorder

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the frames of an interpreter's thread, and reads what a code object says of itself.
//
// From 3.14 on an interpreter without the global lock has several copies of a function's code: the first thread runs
// the one in the code object, each other thread one of its own, since it rewrites it while it runs. A frame has the
// number of the copy that its instruction lies in, and the code object an array of where the copies begin:
//
//   frame: code, number --> code: array of copies --> {how many, where copy 0 is, where copy 1 is, ...}
//
// THE ARRAY IS REPLACED by a larger one when a thread with a higher number comes to the function, and the old one is
// freed once no thread runs Python that may have it; a thread in a call of the driver need not be running Python. So it
// may go while it is read. It is read by the kernel, which does not fault; and what was read is believed if the code
// object still refers to that array thereafter, for an array is freed only when it does not. (That it has been replaced
// twice meanwhile, and the second time by one where it was, is left out of account: each is twice as large as the one
// before, and the offset that would come of it is checked against the length of the code.) The beginning of a copy that
// a thread runs does not change.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "interposer/python_layout.h"
#include "interposer/python_memory.h"
#include "interposer/python_text.h"

namespace streamsan::recorder {

/// What is known of an interpreter's structures.
struct PythonStructures {
  PythonLayout layout;
  std::uint64_t code_type;
  std::uint64_t text_type;
  std::uint64_t bytes_type;
};

struct PythonFrame {
  std::uint64_t at;
  std::uint64_t code;
  std::uint64_t instruction;  ///< an address; up to 3.10 a number
};

enum class FrameWalk { Whole, Broken };

/// Calls visit(PythonFrame) for the frames of Python functions, at most `most` of them, from `frame` outwards.
template <Care kCare, typename Visit>
FrameWalk each_frame(const PythonStructures& python, std::uint64_t frame, unsigned most, Visit visit) {
  const PythonLayout& layout = python.layout;
  const std::uint64_t object_type = layout.object_type();
  const unsigned most_steps = 4 * most;
  unsigned taken = 0;
  for (unsigned step = 0; frame != 0 && step < most_steps && taken < most; ++step) {
    std::uint8_t owner = 0;
    if (layout.frame_owner != PythonLayout::kNone && !get<kCare>(frame, layout.frame_owner, owner))
      return FrameWalk::Broken;
    if (owner < kLeastForeignOwner) {
      std::uint64_t code = 0;
      std::uint64_t type = 0;
      if (!get<kCare>(frame, layout.frame_code, code)) return FrameWalk::Broken;
      code &= ~std::uint64_t{3};
      if (!get<kCare>(code, object_type, type)) return FrameWalk::Broken;
      if (type == python.code_type) {
        std::uint64_t instruction = 0;
        if (layout.code_instructions == PythonLayout::kNone) {
          std::int32_t number = 0;
          if (!get<kCare>(frame, layout.frame_instruction, number)) return FrameWalk::Broken;
          instruction = static_cast<std::uint64_t>(std::int64_t{number});
        } else if (!get<kCare>(frame, layout.frame_instruction, instruction)) {
          return FrameWalk::Broken;
        }
        visit(PythonFrame{.at = frame, .code = code, .instruction = instruction});
        ++taken;
      }
    }
    if (!get<kCare>(frame, layout.frame_previous, frame)) return FrameWalk::Broken;
  }
  return FrameWalk::Whole;
}

/// The str that the word at the address refers to; empty if it is none.
inline PythonText text_at(const PythonStructures& python, std::uint64_t address) {
  const auto object = load_at<std::uint64_t>(address);
  std::uint64_t type = 0;
  if (!get<Care::Direct>(object, python.layout.object_type(), type) || type != python.text_type) return {};
  return {python.layout, object};
}

/// The code object's table of lines; empty if there is none to be read.
inline std::string_view lines_of(const PythonStructures& python, std::uint64_t code) {
  constexpr std::uint64_t kMostBytes = 1u << 28;
  const PythonLayout& layout = python.layout;
  const auto table = load_at<std::uint64_t>(code + layout.code_lines);
  std::uint64_t type = 0;
  if (!get<Care::Direct>(table, layout.object_type(), type) || type != python.bytes_type) return {};
  const auto length = load_at<std::uint64_t>(table + layout.object_size());
  return {reinterpret_cast<const char*>(table + layout.bytes_data()), length > kMostBytes ? 0 : length};
}

/// Where the copy of the code with this number begins. NotThere: there is no such copy, or no array of them.
inline KernelRead find_copy(const PythonLayout& layout, std::uint64_t code, std::int32_t number, std::uint64_t& out) {
  constexpr unsigned kMostTries = 8;  // it is replaced once for each doubling of the number of threads
  if (number < 0) return KernelRead::NotThere;
  for (unsigned i = 0; i < kMostTries; ++i) {
    const std::atomic_ref<std::uint64_t> array(*reinterpret_cast<std::uint64_t*>(code + layout.code_copies));
    const std::uint64_t found = array.load(std::memory_order_acquire);
    if (!can_be_pointer(found)) return KernelRead::NotThere;
    std::uint64_t count_and_start[2];
    const KernelRead read = read_by_kernel(
        found, found + sizeof(std::uint64_t) * (1 + static_cast<std::uint64_t>(number)), count_and_start);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (array.load(std::memory_order_relaxed) != found) continue;
    if (read != KernelRead::Done) return read;
    const auto [count, start] = count_and_start;
    if (static_cast<std::uint64_t>(number) >= count || start == 0) return KernelRead::NotThere;
    out = start;
    return KernelRead::Done;
  }
  return KernelRead::NotThere;
}

/// The offset of an instruction in a copy of the code that was not found: no table of lines goes that far.
inline constexpr std::uint32_t kUnknownOffset = UINT32_MAX;

/// Bytes from the start of the code to the instruction that the frame is at. False: it has not begun.
inline bool instruction_offset(const PythonLayout& layout, const PythonFrame& frame, std::uint32_t& out) {
  constexpr std::uint64_t kMostBytes = 1u << 30;
  std::uint64_t offset = 0;
  if (layout.code_instructions == PythonLayout::kNone) {
    if (static_cast<std::int64_t>(frame.instruction) < 0) return false;
    offset = frame.instruction * layout.instruction_bytes;
  } else {
    constexpr std::uint64_t kUnit = 2;
    const std::uint64_t bytes = load_at<std::uint64_t>(frame.code + layout.object_size()) * kUnit;
    offset = frame.instruction - (frame.code + layout.code_instructions);
    if (offset >= bytes) {
      if (layout.code_copies == PythonLayout::kNone) return false;
      std::uint64_t start = 0;
      const auto number = load_at<std::int32_t>(frame.at + layout.frame_copy);
      const bool found = find_copy(layout, frame.code, number, start) == KernelRead::Done;
      offset = found && frame.instruction - start < bytes ? frame.instruction - start : kUnknownOffset;
      out = static_cast<std::uint32_t>(offset);
      return true;
    }
  }
  out = static_cast<std::uint32_t>(offset);
  return offset < kMostBytes;
}

}  // namespace streamsan::recorder

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where CPython keeps what a Python stack is made of: offsets in its structures, by minor version.
//
//   thread state --> (3.11, 3.12: a word on the C stack -->) innermost frame --previous--> its caller --> ... --> null
//   frame: its code object, and the instruction it is at
//   code object: names of function and file, and a table from instructions to lines
//
// These structures do not change between releases of one minor version (they are part of what extension modules may be
// compiled against), and do change with every minor version. 3.9 to 3.12 are in the table. From 3.13 on an interpreter
// states the offsets itself, at the start of _PyRuntime (_Py_DebugOffsets, for debuggers and profilers from outside);
// the layout of that description changes with the minor version as well, so a version that is not known here stays
// unknown.
//
// A build without the global lock (3.13t, 3.14t) describes itself in the same words. In it the head of every object is
// 16 bytes longer: it has two counts of references, the number of the thread that has one of them, and a lock. And in
// 3.14t the instruction may lie in one of several copies of the code (python_frames.h).
//
// The offsets that were read are checked against the interpreter: its type of code objects has a size, which must be
// the one that the offsets say. A patched or foreign interpreter (PyPy, GraalPy, a build with --with-trace-refs) fails
// that.
#pragma once

#include <cstdint>
#include <cstring>

namespace streamsan::recorder {

/// How instructions map to lines, see python_lines.h.
enum class PythonLines : std::uint8_t {
  Increments,  ///< 3.9: co_lnotab
  Ranges,      ///< 3.10: co_linetable (PEP 626)
  Locations,   ///< 3.11 and later: co_linetable with columns (PEP 657)
};

struct PythonLayout {
  static constexpr std::uint16_t kNone = 0xffff;

  std::uint16_t thread_frame;       ///< in the thread state
  std::uint16_t frame_in_hop;       ///< thread_frame points at something that has the frame here; kNone: at the frame
  std::uint16_t frame_previous;     ///< in a frame
  std::uint16_t frame_code;         ///< its two lowest bits may be a tag (3.14)
  std::uint16_t frame_instruction;  ///< an address in the code; up to 3.10 an int
  std::uint16_t frame_owner;        ///< a byte: kLeastForeignOwner and more are no frame of a Python function; kNone
  std::uint16_t frame_copy;         ///< int: the number of the copy that the instruction lies in; kNone: there are none
  std::uint16_t code_file;          ///< in a code object: str
  std::uint16_t code_function;      ///< str; up to 3.10 without the class
  std::uint16_t code_first_line;    ///< int
  std::uint16_t code_version;       ///< a number that no other code object of the interpreter has had, or 0; or kNone
  std::uint16_t code_lines;         ///< bytes
  std::uint16_t code_instructions;  ///< where they begin; up to 3.10 kNone
  std::uint16_t code_copies;        ///< the address of the array of copies; kNone: there are none
  std::uint16_t code_size;          ///< tp_basicsize of the type
  std::uint8_t instruction_bytes;   ///< up to 3.10: of one unit of frame_instruction
  std::uint8_t text_kind;           ///< in the state of a str: first bit of "kind", which "compact" and "ascii" follow
  std::uint8_t ascii_text;          ///< in a str: the characters, if they are ASCII
  std::uint8_t other_text;          ///< and if not
  std::uint8_t longer_head;         ///< bytes that the head of an object has more than with the global lock
  PythonLines lines;

  // In every object: its type. In objects of variable size (str is none): their length.
  [[nodiscard]] constexpr std::uint64_t object_type() const { return longer_head + 8u; }
  [[nodiscard]] constexpr std::uint64_t object_size() const { return longer_head + 16u; }
  // In a str, a bytes, a type.
  [[nodiscard]] constexpr std::uint64_t text_length() const { return longer_head + 16u; }
  [[nodiscard]] constexpr std::uint64_t text_state() const { return longer_head + 32u; }
  [[nodiscard]] constexpr std::uint64_t bytes_data() const { return longer_head + 32u; }
  [[nodiscard]] constexpr std::uint64_t type_basic_size() const { return longer_head + 32u; }
};

/// The least owner of a frame that is not Python's. 3.12, 3.13: the C stack; 3.14: the interpreter or the C stack.
inline constexpr std::uint8_t kLeastForeignOwner = 3;

/// From 3.12 on five numbers stand between the two, and a pointer behind them. No description has the second, but one
/// that has the pointer where it must be then is believed.
inline constexpr std::uint16_t kFirstLineToVersion = 24;
inline constexpr std::uint16_t kFirstLineToVariables = 28;

inline constexpr unsigned kOldestPython = 9;   ///< minor versions of Python 3
inline constexpr unsigned kNewestPython = 14;  ///< 3.13 and later tell their offsets

inline constexpr PythonLayout kPythonLayouts[] = {
    // 3.9
    {.thread_frame = 24,
     .frame_in_hop = PythonLayout::kNone,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_instruction = 104,
     .frame_owner = PythonLayout::kNone,
     .frame_copy = PythonLayout::kNone,
     .code_file = 104,
     .code_function = 112,
     .code_first_line = 40,
     .code_version = PythonLayout::kNone,
     .code_lines = 120,
     .code_instructions = PythonLayout::kNone,
     .code_copies = PythonLayout::kNone,
     .code_size = 176,
     .instruction_bytes = 1,
     .text_kind = 2,
     .ascii_text = 48,
     .other_text = 72,
     .longer_head = 0,
     .lines = PythonLines::Increments},
    // 3.10
    {.thread_frame = 24,
     .frame_in_hop = PythonLayout::kNone,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_instruction = 96,
     .frame_owner = PythonLayout::kNone,
     .frame_copy = PythonLayout::kNone,
     .code_file = 104,
     .code_function = 112,
     .code_first_line = 40,
     .code_version = PythonLayout::kNone,
     .code_lines = 120,
     .code_instructions = PythonLayout::kNone,
     .code_copies = PythonLayout::kNone,
     .code_size = 176,
     .instruction_bytes = 2,
     .text_kind = 2,
     .ascii_text = 48,
     .other_text = 72,
     .longer_head = 0,
     .lines = PythonLines::Ranges},
    // 3.11
    {.thread_frame = 56,
     .frame_in_hop = 8,
     .frame_previous = 48,
     .frame_code = 32,
     .frame_instruction = 56,
     .frame_owner = 69,
     .frame_copy = PythonLayout::kNone,
     .code_file = 112,
     .code_function = 128,
     .code_first_line = 72,
     .code_version = PythonLayout::kNone,
     .code_lines = 136,
     .code_instructions = 184,
     .code_copies = PythonLayout::kNone,
     .code_size = 184,
     .instruction_bytes = 0,
     .text_kind = 2,
     .ascii_text = 48,
     .other_text = 72,
     .longer_head = 0,
     .lines = PythonLines::Locations},
    // 3.12
    {.thread_frame = 56,
     .frame_in_hop = 0,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_instruction = 56,
     .frame_owner = 70,
     .frame_copy = PythonLayout::kNone,
     .code_file = 112,
     .code_function = 128,
     .code_first_line = 68,
     .code_version = 68 + kFirstLineToVersion,
     .code_lines = 136,
     .code_instructions = 192,
     .code_copies = PythonLayout::kNone,
     .code_size = 192,
     .instruction_bytes = 0,
     .text_kind = 2,
     .ascii_text = 40,
     .other_text = 56,
     .longer_head = 0,
     .lines = PythonLines::Locations},
};

/// The words of _Py_DebugOffsets that matter, counted from its start.
struct DebugOffsetWords {
  std::uint8_t current_frame;
  std::uint8_t previous, executable, instr_ptr, owner;
  std::uint8_t tlbc_index;  ///< of a frame; 0: there is no such word
  std::uint8_t filename, qualname, linetable, firstlineno, localsplusnames, co_code_adaptive;
  std::uint8_t co_tlbc;  ///< 0: there is no such word
  std::uint8_t ob_type;
  // No offsets, but what PythonLayout calls text_kind: "interned" stands before it, which other threads may change.
  std::uint8_t text_kind, text_kind_without_lock;
};
inline constexpr unsigned kFirstDescribed = 13;
inline constexpr DebugOffsetWords kDebugOffsetWords[] = {
    // 3.13
    {.current_frame = 23,
     .previous = 29,
     .executable = 30,
     .instr_ptr = 31,
     .owner = 33,
     .tlbc_index = 0,
     .filename = 35,
     .qualname = 37,
     .linetable = 38,
     .firstlineno = 39,
     .localsplusnames = 41,
     .co_code_adaptive = 43,
     .co_tlbc = 0,
     .ob_type = 45,
     .text_kind = 2,
     .text_kind_without_lock = 2},
    // 3.14: three words more about interpreters, two about frames, one about code
    {.current_frame = 26,
     .previous = 32,
     .executable = 33,
     .instr_ptr = 34,
     .owner = 36,
     .tlbc_index = 38,
     .filename = 40,
     .qualname = 42,
     .linetable = 43,
     .firstlineno = 44,
     .localsplusnames = 46,
     .co_code_adaptive = 48,
     .co_tlbc = 49,
     .ob_type = 51,
     .text_kind = 2,
     .text_kind_without_lock = 8},
};

/// The layout that `runtime`, the start of _PyRuntime of Python 3.`minor`, describes. False: it describes none.
inline bool described_layout(const void* runtime, unsigned minor, PythonLayout& out) {
  if (minor < kFirstDescribed || minor > kNewestPython) return false;
  const DebugOffsetWords& at = kDebugOffsetWords[minor - kFirstDescribed];
  std::uint64_t word[64];
  std::memcpy(word, runtime, sizeof word);
  constexpr std::uint64_t kVersionWord = 1;
  constexpr std::uint64_t kFreeThreadedWord = 2;
  if (std::memcmp(runtime, "xdebugpy", 8) != 0 || word[kFreeThreadedWord] > 1) return false;
  if (word[kVersionWord] >> 24 != 3 || (word[kVersionWord] >> 16 & 0xff) != minor) return false;
  const bool has_lock = word[kFreeThreadedWord] == 0;
  constexpr std::uint64_t kMostOffset = 1024;
  bool small = true;
  const auto offset = [&](std::uint8_t index) {
    small = small && word[index] < kMostOffset;
    return static_cast<std::uint16_t>(word[index]);
  };
  const auto of_copies = [&](std::uint8_t index) {
    small = small && (index == 0 || has_lock || word[index] != 0);
    return has_lock || index == 0 ? PythonLayout::kNone : offset(index);
  };
  const std::uint8_t longer_head = has_lock ? 0 : 16;
  const bool as_expected = word[at.localsplusnames] == word[at.firstlineno] + kFirstLineToVariables;
  const std::uint16_t version =
      as_expected ? static_cast<std::uint16_t>(offset(at.firstlineno) + kFirstLineToVersion) : PythonLayout::kNone;
  out = {.thread_frame = offset(at.current_frame),
         .frame_in_hop = PythonLayout::kNone,
         .frame_previous = offset(at.previous),
         .frame_code = offset(at.executable),
         .frame_instruction = offset(at.instr_ptr),
         .frame_owner = offset(at.owner),
         .frame_copy = of_copies(at.tlbc_index),
         .code_file = offset(at.filename),
         .code_function = offset(at.qualname),
         .code_first_line = offset(at.firstlineno),
         .code_version = version,
         .code_lines = offset(at.linetable),
         .code_instructions = offset(at.co_code_adaptive),
         .code_copies = of_copies(at.co_tlbc),
         .code_size = offset(at.co_code_adaptive),
         .instruction_bytes = 0,
         .text_kind = has_lock ? at.text_kind : at.text_kind_without_lock,
         .ascii_text = static_cast<std::uint8_t>(40 + longer_head),
         .other_text = static_cast<std::uint8_t>(56 + longer_head),
         .longer_head = longer_head,
         .lines = PythonLines::Locations};
  return small && word[at.ob_type] == out.object_type();
}

}  // namespace streamsan::recorder

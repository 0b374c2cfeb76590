// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An interpreter in miniature: what the recorder reads of CPython 3.13 and 3.14, with the global lock and without it.
//
// The structures are written down from CPython's headers (Include/object.h, cpython/{code,unicodeobject,bytesobject}.h,
// internal/pycore_{frame,interpframe_structs,runtime_init,debug_offsets}.h) as C++ structures, and read by
// PythonLayout, which shares nothing with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "interposer/python_frames.h"

namespace streamsan::testing {

/// The words of _Py_DebugOffsets, in their order, as far as one is read.
inline constexpr std::string_view kWordsOfDescription13 =
    "cookie version free_threaded runtime.size finalizing interpreters_head "
    "interpreter.size id next threads_head gc imports_modules sysdict builtins ceval_gil gil_state gil_enabled "
    "gil_locked gil_holder "
    "thread.size prev next interp current_frame thread_id native_thread_id datastack_chunk status "
    "frame.size previous executable instr_ptr localsplus owner "
    "code.size filename name qualname linetable firstlineno argcount localsplusnames localspluskinds co_code_adaptive "
    "object.size ob_type";
inline constexpr std::string_view kWordsOfDescription14 =
    "cookie version free_threaded runtime.size finalizing interpreters_head "
    "interpreter.size id next threads_head threads_main gc imports_modules sysdict builtins ceval_gil gil_state "
    "gil_enabled gil_locked gil_holder code_object_generation tlbc_generation "
    "thread.size prev next interp current_frame thread_id native_thread_id datastack_chunk status "
    "frame.size previous executable instr_ptr localsplus owner stackpointer tlbc_index "
    "code.size filename name qualname linetable firstlineno argcount localsplusnames localspluskinds co_code_adaptive "
    "co_tlbc "
    "object.size ob_type";

template <unsigned kMinorVersion, bool kHasLock>
struct PythonImage {
  static constexpr unsigned kMinor = kMinorVersion;
  static constexpr bool kLock = kHasLock;
  static constexpr bool kCopies = kMinor >= 14 && !kLock;

  struct Nothing {};
  template <bool kIsThere, typename Member>
  using If = std::conditional_t<kIsThere, Member, Nothing>;

  struct ObjectWithLock {
    std::int64_t references = 1;
    const void* type = nullptr;
  };
  struct ObjectWithoutLock {
    std::uint64_t thread = 0x7f1234567840;
    std::uint16_t padding = 0;
    std::uint8_t mutex = 1;
    std::uint8_t collector = 9;
    std::uint32_t local_references = 1;
    std::int64_t shared_references = 4;
    const void* type = nullptr;
  };
  using Object = std::conditional_t<kLock, ObjectWithLock, ObjectWithoutLock>;
  struct SizedObject {
    Object object;
    std::int64_t size = 0;
  };
  struct Type {
    SizedObject head;
    const char* name = "type";
    std::int64_t basic_size = 0;
  };
  struct AsciiText {
    Object object;
    std::int64_t length = 0;
    std::int64_t hash = -1;
    std::uint32_t state = 0;
  };
  struct CompactText {
    AsciiText ascii;
    std::int64_t utf8_length = 0;
    char* utf8 = nullptr;
  };
  struct Bytes {
    SizedObject head;
    std::int64_t hash = -1;
    char data[1] = {};
  };
  struct Code {
    SizedObject head;
    const void *constants = nullptr, *names = nullptr, *exceptions = nullptr;
    int flags = 3, arguments = 0, positional = 0, keyword = 0, stack_size = 5, first_line = 0;
    int locals_and_more = 0, frame_size = 20, locals = 0, cells = 0, free_variables = 0;
    std::uint32_t version = 0;
    const void *local_names = nullptr, *local_kinds = nullptr;
    const void *file = nullptr, *name = nullptr, *qualified_name = nullptr, *lines = nullptr;
    const void *weak = nullptr, *executors = nullptr, *cached = nullptr;
    std::uint64_t instrumentation = 0;
    const void* monitoring = nullptr;
    [[no_unique_address]] If<(kMinor >= 14), std::int64_t> unique_id{};
    int first_traceable = 0;
    const void* extra = nullptr;
    [[no_unique_address]] If<kCopies, const void*> copies{};
    char instructions[64] = {};
  };
  struct Frame13 {
    std::uint64_t executable = 0;
    const void *previous = nullptr, *function = nullptr, *globals = nullptr, *builtins = nullptr, *locals = nullptr;
    const void* object = nullptr;
    const char* instruction = nullptr;
    int stack_top = 0;
    std::uint16_t return_offset = 0xffff;
    std::uint8_t owner = 0;
    std::uint64_t variables[1] = {};
  };
  struct Frame14 {
    std::uint64_t executable = 0;
    const void *previous = nullptr, *function = nullptr, *globals = nullptr, *builtins = nullptr, *locals = nullptr;
    const void* object = nullptr;
    const char* instruction = nullptr;
    const void* stack_pointer = nullptr;
    [[no_unique_address]] If<kCopies, std::int32_t> copy{};
    std::uint16_t return_offset = 0xffff;
    std::uint8_t owner = 0;
    std::uint8_t visited = 0;
    std::uint64_t variables[1] = {};
  };
  using Frame = std::conditional_t<kMinor >= 14, Frame14, Frame13>;

  /// Frames that an interpreter puts between others are these.
  static constexpr std::uint8_t kOwnedByInterpreter = 3;

  PythonImage() { code_type.basic_size = offsetof(Code, instructions); }

  /// What _PyRuntime begins with.
  std::vector<std::uint64_t> description() const {
    std::vector<std::uint64_t> out(80, 0xbad);
    std::memcpy(out.data(), "xdebugpy", 8);
    set(out, "version", 0x03000000u | kMinor << 16 | 0x01f0u);
    set(out, "free_threaded", !kLock);
    set(out, "current_frame", 72);
    set(out, "previous", offsetof(Frame, previous));
    set(out, "executable", offsetof(Frame, executable));
    set(out, "instr_ptr", offsetof(Frame, instruction));
    set(out, "owner", offsetof(Frame, owner));
    set(out, "filename", offsetof(Code, file));
    set(out, "qualname", offsetof(Code, qualified_name));
    set(out, "linetable", offsetof(Code, lines));
    set(out, "firstlineno", offsetof(Code, first_line));
    set(out, "localsplusnames", offsetof(Code, local_names));
    set(out, "co_code_adaptive", offsetof(Code, instructions));
    set(out, "ob_type", offsetof(Object, type));
    if constexpr (kMinor >= 14) {
      set(out, "tlbc_index", 0);
      set(out, "co_tlbc", 0);
    }
    if constexpr (kCopies) {
      set(out, "tlbc_index", offsetof(Frame, copy));
      set(out, "co_tlbc", offsetof(Code, copies));
    }
    return out;
  }
  static void set(std::vector<std::uint64_t>& description, std::string_view word, std::uint64_t value) {
    std::istringstream words{std::string(kMinor >= 14 ? kWordsOfDescription14 : kWordsOfDescription13)};
    std::size_t index = 0;
    for (std::string each; words >> each && each != word;) ++index;
    description.at(index) = value;
  }

  recorder::PythonStructures structures() const {
    recorder::PythonStructures out{};
    recorder::described_layout(description().data(), kMinor, out.layout);
    out.code_type = address(&code_type);
    out.text_type = address(&text_type);
    out.bytes_type = address(&bytes_type);
    return out;
  }

  /// A str of these characters, in one of CPython's three widths.
  template <typename Character>
  const void* text(std::basic_string_view<Character> characters, bool ascii, unsigned interned = 0) {
    const std::size_t head = ascii ? sizeof(AsciiText) : sizeof(CompactText);
    char* memory = room(head + (characters.size() + 1) * sizeof(Character));
    AsciiText object;
    object.object.type = &text_type;
    object.length = static_cast<std::int64_t>(characters.size());
    const unsigned kind = sizeof(Character) | 8u | (ascii ? 16u : 0u);
    object.state = interned | kind << (kCopies ? 8 : 2);
    std::memcpy(memory, &object, sizeof object);
    std::memcpy(memory + head, characters.data(), characters.size() * sizeof(Character));
    return memory;
  }
  const void* text(std::string_view characters) { return text(characters, true); }

  const void* bytes(std::string_view data) {
    char* memory = room(sizeof(Bytes) + data.size());
    Bytes object;
    object.head = {.object = {}, .size = static_cast<std::int64_t>(data.size())};
    object.head.object.type = &bytes_type;
    std::memcpy(memory, &object, sizeof object);
    std::memcpy(memory + offsetof(Bytes, data), data.data(), data.size());
    return memory;
  }

  /// Its instructions are two bytes long; each has a line of its own.
  Code* code(std::string_view name, std::string_view file, int first_line) {
    auto* out = new (room(sizeof(Code))) Code;
    out->head.object.type = &code_type;
    out->head.size = kInstructions;
    out->first_line = first_line;
    out->version = ++versions_;
    out->file = text(file);
    out->name = text("not asked for");
    out->qualified_name = text(name);
    std::string lines;
    for (unsigned i = 0; i < kInstructions; ++i) lines += {static_cast<char>(0x80 | 11 << 3), 0, 0};
    out->lines = bytes(lines);
    if constexpr (kCopies) out->copies = array({out->instructions});
    return out;
  }
  /// The lines are those of code().
  static std::uint32_t line_of(const Code& code, unsigned instruction) {
    return static_cast<std::uint32_t>(code.first_line) + instruction + 1;
  }
  static constexpr unsigned kInstructions = 20;

  /// The address of copies of the code.
  const void* array(const std::vector<const char*>& copies) {
    char* memory = room(sizeof(std::uint64_t) * (1 + copies.size()));
    const std::uint64_t size = copies.size();
    std::memcpy(memory, &size, sizeof size);
    std::memcpy(memory + sizeof size, copies.data(), sizeof(char*) * copies.size());
    return memory;
  }

  Frame* frame(const Code* code, const char* instruction, const Frame* previous = nullptr) {
    auto* out = new (room(sizeof(Frame))) Frame;
    out->executable = address(code);
    out->previous = previous;
    out->instruction = instruction;
    return out;
  }
  Frame* frame(const Code* code, unsigned instruction, const Frame* previous = nullptr) {
    return frame(code, code->instructions + 2 * instruction, previous);
  }
  Frame* entry(const Frame* previous) {
    auto* out = new (room(sizeof(Frame))) Frame;
    out->executable = address(text("None"));
    out->previous = previous;
    out->owner = kOwnedByInterpreter;
    return out;
  }

  static std::uint64_t address(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

  Type code_type;
  Type text_type;
  Type bytes_type;

 private:
  /// An own block each, so that AddressSanitizer sees what lies behind it.
  char* room(std::size_t bytes) {
    blocks_.push_back(std::make_unique<std::uint64_t[]>((bytes + 7) / 8));
    return reinterpret_cast<char*>(blocks_.back().get());
  }

  std::vector<std::unique_ptr<std::uint64_t[]>> blocks_;
  std::uint32_t versions_ = 0;
};

}  // namespace streamsan::testing

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/python_stack.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/hot.h"
#include "interposer/process.h"
#include "interposer/python_frames.h"
#include "interposer/python_layout.h"
#include "interposer/python_lines.h"
#include "interposer/python_memory.h"
#include "interposer/python_text.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

using detail::PythonState;

namespace detail {
STREAMSAN_HOT_DATA constinit std::atomic<PythonState> g_python_state{PythonState::Absent};
}  // namespace detail

namespace {

using detail::g_python_state;

/// What is known of the interpreter. Written before g_python_state says that there is one.
struct Interpreter {
  PythonStructures structures;
  void* (*thread_state)();
  int (*is_finalizing)();
  const void* (*newest_interpreter)();  ///< null: a thread's state is always the right one
  const void* (*main_interpreter)();
};
STREAMSAN_HOT_TABLE constinit Interpreter g_python{};
constinit std::atomic<bool> g_looking{false};
// A fork keeps g_python_state, g_python, g_loads: the interpreter lies where it lay.
constinit std::atomic<unsigned long long> g_loads{0};  // modules that had come when it was looked last

/// All places in Python code, by what they are called: the id of one is its place here plus one.
constexpr std::size_t kMostFrames = std::size_t{1} << 18;
constinit std::uint64_t g_frames[kMostFrames] = {};
/// The same by where they lie in memory: a hash of that in the upper bits, the id in the lower.
constexpr std::size_t kKnown = std::size_t{1} << 14;
constexpr unsigned kIdBits = 20;
static_assert(kMostFrames < std::size_t{1} << kIdBits);
constinit std::uint64_t g_frame_ids[kKnown] = {};

// ---- finding the interpreter

struct LoadedPython {
  unsigned long long loads = 0;
  char path[1024] = {};
};

int find_library(dl_phdr_info* info, std::size_t, void* argument) {
  auto& found = *static_cast<LoadedPython*>(argument);
  found.loads = info->dlpi_adds;
  if (found.loads == g_loads.load(std::memory_order_relaxed)) return 1;
  const char* name = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
  if (name && std::strncmp(name, "/libpython", 10) == 0 && std::strlen(info->dlpi_name) < sizeof found.path &&
      std::strncmp(name, "/libpython3.so", 14) != 0) {
    std::strcpy(found.path, info->dlpi_name);
  }
  return 0;
}

template <typename Function>
Function symbol(void* handle, const char* name) {
  return reinterpret_cast<Function>(real_dlsym(handle, name));
}

/// What was found must stay: a host may unload its interpreter.
void keep(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) && info.dli_fname) dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  dlerror();
}

/// "3.12.1 (main, ...": the minor version of Python 3; 0: none.
unsigned minor_of(const char* version) {
  if (!version || std::strncmp(version, "3.", 2) != 0) return 0;
  unsigned minor = 0;
  for (version += 2; *version >= '0' && *version <= '9' && minor < 1000; ++version) {
    minor = minor * 10 + static_cast<unsigned>(*version - '0');
  }
  return minor;
}

/// A line in the report, and none on stderr now: nothing is wrong.
void note(const char* text) { write_message(text, std::strlen(text)); }

#define SS_NO_LINES "call stacks have no lines of Python: "

void refuse(const char* why) {
  g_python_state.store(PythonState::Off, std::memory_order_release);
  note(why);
}

/// Fills in g_python. False: there is none here, or none whose structures are known.
bool examine(void* handle) {
  g_python.thread_state = symbol<void* (*)()>(handle, "PyGILState_GetThisThreadState");
  const auto version = symbol<const char* (*)()>(handle, "Py_GetVersion");
  if (!g_python.thread_state || !version) return false;
  keep(reinterpret_cast<const void*>(g_python.thread_state));
  const unsigned minor = minor_of(version());
  const void* runtime = real_dlsym(handle, "_PyRuntime");
  PythonLayout& layout = g_python.structures.layout;
  if (minor < kOldestPython || minor > kNewestPython) {
    refuse(SS_NO_LINES "this version of Python is not known; 3.9 to 3.14 are");
    return false;
  }
  if (minor < kFirstDescribed) {
    layout = kPythonLayouts[minor - kOldestPython];
  } else if (!runtime || !described_layout(runtime, minor, layout)) {
    refuse(SS_NO_LINES "this Python does not describe its structures");
    return false;
  }
  constexpr unsigned kBindsStates = 12;  // from here on a thread's state is that of the interpreter it runs in
  if (minor < kBindsStates) {
    g_python.newest_interpreter = symbol<const void* (*)()>(handle, "PyInterpreterState_Head");
    g_python.main_interpreter = symbol<const void* (*)()>(handle, "PyInterpreterState_Main");
  }
  g_python.is_finalizing = symbol<int (*)()>(handle, "Py_IsFinalizing");
  if (!g_python.is_finalizing) g_python.is_finalizing = symbol<int (*)()>(handle, "_Py_IsFinalizing");
  const auto type = [handle](const char* name) { return symbol<std::uint64_t>(handle, name); };
  const std::uint64_t code_type = g_python.structures.code_type = type("PyCode_Type");
  g_python.structures.text_type = type("PyUnicode_Type");
  g_python.structures.bytes_type = type("PyBytes_Type");
  const bool whole = g_python.is_finalizing && code_type && g_python.structures.text_type &&
                     g_python.structures.bytes_type &&
                     (minor >= kBindsStates || (g_python.newest_interpreter && g_python.main_interpreter));
  if (!whole || load_at<std::uint64_t>(code_type + layout.type_basic_size()) != layout.code_size) {
    refuse(SS_NO_LINES "its structures are not those of a Python of its version");
    return false;
  }
  return true;
}

// ---- walking

/// 0: this thread is not in Python.
template <Care kCare>
[[gnu::always_inline]] inline FrameWalk find_innermost(std::uint64_t& frame) {
  frame = 0;
  if (g_python.is_finalizing()) return FrameWalk::Whole;
  if (g_python.newest_interpreter && g_python.newest_interpreter() != g_python.main_interpreter())
    return FrameWalk::Whole;
  const auto state = reinterpret_cast<std::uint64_t>(g_python.thread_state());
  if (state == 0) return FrameWalk::Whole;
  if (!get<kCare>(state, g_python.structures.layout.thread_frame, frame)) return FrameWalk::Broken;
  const std::uint16_t hop = g_python.structures.layout.frame_in_hop;
  return hop == PythonLayout::kNone || get<kCare>(frame, hop, frame) ? FrameWalk::Whole : FrameWalk::Broken;
}

/// Is what a code object refers to what it should be? A walk has come by it.
bool is_plain(std::uint64_t code) {
  const PythonStructures& python = g_python.structures;
  const PythonLayout& layout = python.layout;
  std::uint64_t lines = 0;
  std::uint64_t type = 0;
  if (!get<Care::Checked>(code, layout.code_lines, lines) || !get<Care::Checked>(lines, layout.object_type(), type) ||
      type != python.bytes_type) {
    return false;
  }
  if (layout.code_copies == PythonLayout::kNone) return true;
  std::uint64_t first_copy = 0;
  const KernelRead read = find_copy(layout, code, 0, first_copy);
  return read == KernelRead::NotAllowed || (read == KernelRead::Done && first_copy == code + layout.code_instructions);
}

/// Has it a name that can be read?
bool is_named(std::uint64_t code) {
  const PythonStructures& python = g_python.structures;
  std::uint64_t text = 0;
  std::uint64_t type = 0;
  return get<Care::Checked>(code, python.layout.code_function, text) &&
         get<Care::Checked>(text, python.layout.object_type(), type) && type == python.text_type &&
         !PythonText(python.layout, text).empty();
}

/// The first walk. Decides about all later ones, unless this thread is not in Python.
[[gnu::noinline]] bool first_walk_succeeds() {
  unsigned frames = 0;
  bool plain = true;
  bool named = false;
  std::uint64_t innermost = 0;
  FrameWalk walk = find_innermost<Care::Checked>(innermost);
  if (walk == FrameWalk::Whole) {
    walk = each_frame<Care::Checked>(g_python.structures, innermost, kMostPythonFrames, [&](const PythonFrame& frame) {
      ++frames;
      plain = plain && is_plain(frame.code);
      named = named || is_named(frame.code);
    });
  }
  if (walk == FrameWalk::Broken || !plain || (frames != 0 && !named)) {
    refuse(SS_NO_LINES "the frames of its interpreter are not where they are expected");
    return false;
  }
  if (frames == 0) return false;
  auto untried = PythonState::Untried;
  g_python_state.compare_exchange_strong(untried, PythonState::Ready, std::memory_order_acq_rel);
  return true;
}

// ---- describing

void describe(std::uint32_t id, const PythonText& function, const PythonText& file, std::uint32_t line) {
  const auto cut = [](std::size_t bytes, std::size_t most) { return bytes < most ? bytes : most; };
  const std::size_t bytes =
      cut(function.bytes(), trace::kMostPythonFunction) + cut(file.bytes(), trace::kMostPythonFile);
  const Slot slot = start_record({.kind = trace::Kind::PythonFrame, .continuations = continuations_of(bytes)});
  if (!slot) return;
  auto* payload = reinterpret_cast<char*>(slot.continuation());
  const std::size_t of_function = function.write(payload, trace::kMostPythonFunction, false);
  const std::size_t of_file = file.write(payload + of_function, trace::kMostPythonFile, true);
  auto& w = slot.record->as<trace::Kind::PythonFrame>();
  w.id = id;
  w.line = line;
  w.function_bytes = of_function;
  w.file_bytes = of_file;
  publish(slot);
}

/// Id of the place, by its names. 0: it has none, or there are too many.
std::uint32_t intern(const PythonText& function, const PythonText& file, std::uint32_t line) {
  if (function.empty() && file.empty()) return 0;
  constexpr std::uint64_t kSeed = 0xcbf29ce484222325ull;
  const std::uint64_t hash = mix_bits(mix_bits(file.hash(function.hash(kSeed) * 31 + 1)) * 31 + line) | 1;
  for (std::size_t probe = 0; probe < 256; ++probe) {
    const std::size_t place = (mix_bits(hash) + probe) % kMostFrames;
    std::atomic_ref<std::uint64_t> stored(g_frames[place]);
    std::uint64_t found = stored.load(std::memory_order_acquire);
    const auto id = static_cast<std::uint32_t>(place + 1);
    if (found == 0 && stored.compare_exchange_strong(found, hash, std::memory_order_acq_rel)) {
      describe(id, function, file, line);
      return id;
    }
    if (found == hash) return id;
  }
  return 0;
}

/// Id of the place, by where it lies. 0: there is nothing to say of it.
std::uint32_t frame_id(const PythonFrame& frame) {
  const PythonStructures& python = g_python.structures;
  const PythonLayout& layout = python.layout;
  const std::uint64_t code = frame.code;
  std::uint32_t offset = 0;
  if (!instruction_offset(layout, frame, offset)) return 0;
  std::uint64_t hash = mix_bits(code);
  const std::string_view lines = lines_of(python, code);
  const auto first_line = load_at<std::int32_t>(code + layout.code_first_line);
  for (const std::uint64_t word :
       {std::uint64_t{offset}, load_at<std::uint64_t>(code + layout.code_file),
        load_at<std::uint64_t>(code + layout.code_function), static_cast<std::uint64_t>(first_line)}) {
    hash = mix_bits(hash * 31 + word);
  }
  for (const char byte : lines) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ull;
  std::atomic_ref<std::uint64_t> known(g_frame_ids[hash % kKnown]);
  const std::uint64_t word = known.load(std::memory_order_relaxed);
  constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kIdBits) - 1;
  const std::uint64_t high = mix_bits(hash) & ~kIdMask;
  if ((word & ~kIdMask) == high && (word & kIdMask) != 0) return static_cast<std::uint32_t>(word & kIdMask);
  const std::uint32_t id =
      intern(text_at(python, code + layout.code_function), text_at(python, code + layout.code_file),
             python_line(layout.lines, reinterpret_cast<const unsigned char*>(lines.data()), lines.size(), first_line,
                         offset));
  if (id != 0) known.store(high | id, std::memory_order_relaxed);
  return id;
}

// ---- the hash of a chain

/// With the number of the code object, which no other one had.
inline std::uint64_t with_version(std::uint64_t hash, std::uint64_t code, std::uint64_t instruction,
                                  std::uint32_t version) {
  hash = (hash ^ code ^ std::uint64_t{version} << 32) * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 32 ^ instruction) * 0x94d049bb133111ebull;
  return hash ^ hash >> 31;
}

/// With its first line and its table of lines, and how that begins and ends: a code object may have gone, and another
/// one be where it was. (A table is never shorter than what is read: it has a head, and a zero behind it.)
inline std::uint64_t with_table(std::uint64_t hash, std::uint64_t code, std::uint64_t instruction) {
  const PythonLayout& layout = g_python.structures.layout;
  const auto lines = load_at<std::uint64_t>(code + layout.code_lines);
  const auto length = load_at<std::uint64_t>(lines + layout.object_size());
  const auto begin = load_at<std::uint64_t>(lines + layout.bytes_data());
  const auto end = load_at<std::uint64_t>(lines + layout.bytes_data() + length - sizeof(std::uint64_t));
  const auto first_line = load_at<std::uint32_t>(code + layout.code_first_line);
  hash = (hash ^ code ^ instruction << 16 ^ std::uint64_t{first_line} << 48) * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 29 ^ instruction ^ lines << 8) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ hash >> 32 ^ begin ^ end << 7 ^ length << 48) * 0x94d049bb133111ebull;
  return hash ^ hash >> 31;
}

/// Its code object is one of those that were made after the numbers were used up.
[[gnu::cold, gnu::noinline]] std::uint64_t without_version(std::uint64_t hash, std::uint64_t code,
                                                           std::uint64_t instruction) {
  return with_table(hash, code, instruction);
}

}  // namespace

STREAMSAN_HOT_CODE std::uint64_t detail::hash_chain() {
  if (g_python_state.load(std::memory_order_relaxed) == PythonState::Untried && !first_walk_succeeds()) return 0;
  const PythonStructures& python = g_python.structures;
  std::uint64_t innermost = 0;
  if (find_innermost<Care::Direct>(innermost) != FrameWalk::Whole) return 0;
  std::uint64_t hash = 0;
  const std::uint16_t version_at = python.layout.code_version;
  if (version_at == PythonLayout::kNone) {
    each_frame<Care::Direct>(python, innermost, kMostPythonFrames, [&hash](const PythonFrame& frame) {
      hash = with_table(hash, frame.code, frame.instruction);
    });
    return hash;
  }
  each_frame<Care::Direct>(python, innermost, kMostPythonFrames, [&hash, version_at](const PythonFrame& frame) {
    const auto version = load_at<std::uint32_t>(frame.code + version_at);
    hash = version != 0 ? with_version(hash, frame.code, frame.instruction, version)
                        : without_version(hash, frame.code, frame.instruction);
  });
  return hash;
}

void capture_python(PythonStack& out) {
  out.count = 0;
  std::uint64_t innermost = 0;
  if (find_innermost<Care::Direct>(innermost) != FrameWalk::Whole) return;
  each_frame<Care::Direct>(g_python.structures, innermost, kMostPythonFrames, [&out](const PythonFrame& frame) {
    const std::uint32_t id = frame_id(frame);
    if (id != 0) out.frame[out.count++] = id;
  });
}

bool look_for_python() {
  if (g_python_state.load(std::memory_order_acquire) != PythonState::Absent) return false;
  const bool first = g_loads.load(std::memory_order_relaxed) == 0;
  if (g_looking.exchange(true, std::memory_order_acquire)) return false;
  LoadedPython python;
  dl_iterate_phdr(find_library, &python);
  bool found = false;
  if (first && options().python_stacks == PythonStacks::Off) {
    g_python_state.store(PythonState::Off);
  } else if (python.loads != g_loads.exchange(python.loads, std::memory_order_relaxed)) {
    // Later ones are found by their names only: a look-up waits while another thread loads
    // a library and runs its constructors.
    found = first && examine(RTLD_DEFAULT);
    if (!found && python.path[0] && g_python_state.load() == PythonState::Absent) {
      void* library = dlopen(python.path, RTLD_LAZY | RTLD_NOLOAD);
      found = library && examine(library);
    }
    dlerror();
  }
  if (found) g_python_state.store(PythonState::Untried, std::memory_order_release);
  g_looking.store(false, std::memory_order_release);
  return found;
}

void say_if_no_python() {
  if (options().python_stacks != PythonStacks::On || g_python_state.load() != PythonState::Absent) return;
  note("python_stacks=1, but there is no Python in this process");
}

void in_child::python() {
  for (std::uint64_t& frame : g_frames) {
    if (frame) frame = 0;
  }
  for (std::uint64_t& known : g_frame_ids) {
    if (known) known = 0;
  }
  g_looking.store(false);
}

}  // namespace streamsan::recorder

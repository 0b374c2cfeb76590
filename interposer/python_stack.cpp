// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/python_stack.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/host/raw_syscall.h"
#include "interposer/hot.h"
#include "interposer/machine.h"
#include "interposer/process.h"
#include "interposer/python_layout.h"
#include "interposer/python_lines.h"
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
  PythonLayout layout;
  unsigned minor;
  void* (*thread_state)();
  int (*is_finalizing)();
  const void* (*newest_interpreter)();  ///< null: a thread's state is always the right one
  const void* (*main_interpreter)();
  std::uint64_t code_type;
  std::uint64_t text_type;
  std::uint64_t bytes_type;
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
  const char* text = version();
  g_python.minor = minor_of(text);
  if (text && std::strstr(text, "free-threading")) {
    refuse(SS_NO_LINES "of a Python without the global interpreter lock they are not read");
    return false;
  }
  const void* runtime = real_dlsym(handle, "_PyRuntime");
  if (g_python.minor < kOldestPython || g_python.minor > kNewestPython) {
    refuse(SS_NO_LINES "this version of Python is not known; 3.9 to 3.14 are");
    return false;
  }
  if (g_python.minor < kFirstDescribed) {
    g_python.layout = kPythonLayouts[g_python.minor - kOldestPython];
  } else if (!runtime || !described_layout(runtime, g_python.minor, g_python.layout)) {
    refuse(SS_NO_LINES "this Python does not describe its structures");
    return false;
  }
  constexpr unsigned kBindsStates = 12;  // from here on a thread's state is that of the interpreter it runs in
  if (g_python.minor < kBindsStates) {
    g_python.newest_interpreter = symbol<const void* (*)()>(handle, "PyInterpreterState_Head");
    g_python.main_interpreter = symbol<const void* (*)()>(handle, "PyInterpreterState_Main");
  }
  g_python.is_finalizing = symbol<int (*)()>(handle, "Py_IsFinalizing");
  if (!g_python.is_finalizing) g_python.is_finalizing = symbol<int (*)()>(handle, "_Py_IsFinalizing");
  g_python.code_type = symbol<std::uint64_t>(handle, "PyCode_Type");
  g_python.text_type = symbol<std::uint64_t>(handle, "PyUnicode_Type");
  g_python.bytes_type = symbol<std::uint64_t>(handle, "PyBytes_Type");
  const bool whole = g_python.is_finalizing && g_python.code_type && g_python.text_type && g_python.bytes_type &&
                     (g_python.minor >= kBindsStates || (g_python.newest_interpreter && g_python.main_interpreter));
  if (!whole || load_at<std::uint64_t>(g_python.code_type + kTypeBasicSize) != g_python.layout.code_size) {
    refuse(SS_NO_LINES "its structures are not those of a Python of its version");
    return false;
  }
  return true;
}

// ---- walking

bool can_be_pointer(std::uint64_t address) {
  constexpr std::uint64_t kLowest = 4096;
  return address >= kLowest && address >> kAddressBits == 0 && address % sizeof(void*) == 0;
}

/// The kernel is asked to read eight bytes there, as a mask of signals for a request that it does not know.
bool is_readable(std::uint64_t address) {
  constexpr long kNoRequest = -1;
  constexpr long kFault = -14;  // EFAULT
  return raw_syscall(SYS_rt_sigprocmask, kNoRequest, static_cast<long>(address), 0, sizeof(std::uint64_t)) != kFault;
}

enum class Care { Checked, Direct };

/// A word at an address that must be one. False: it is none, or (Care::Checked) cannot be read.
template <Care kCare, typename Word>
bool get(std::uint64_t base, std::uint64_t offset, Word& out) {
  if (!can_be_pointer(base)) return false;
  if constexpr (kCare == Care::Checked) {
    if (!is_readable((base + offset) & ~std::uint64_t{7})) return false;
  }
  out = load_at<Word>(base + offset);
  return true;
}

enum class FrameWalk { Whole, Broken };

/// Calls visit(code object, instruction) for the frames of Python functions, from `frame` outwards.
template <Care kCare, typename Visit>
FrameWalk each_frame(std::uint64_t frame, Visit visit) {
  const PythonLayout& layout = g_python.layout;
  constexpr unsigned kMostSteps = 4 * kMostPythonFrames;
  unsigned taken = 0;
  for (unsigned step = 0; frame != 0 && step < kMostSteps && taken < kMostPythonFrames; ++step) {
    std::uint8_t owner = 0;
    if (layout.frame_owner != PythonLayout::kNone && !get<kCare>(frame, layout.frame_owner, owner))
      return FrameWalk::Broken;
    if (owner < kLeastForeignOwner) {
      std::uint64_t code = 0;
      std::uint64_t type = 0;
      if (!get<kCare>(frame, layout.frame_code, code)) return FrameWalk::Broken;
      code &= ~std::uint64_t{3};
      if (!get<kCare>(code, kObjectType, type)) return FrameWalk::Broken;
      if (type == g_python.code_type) {
        std::uint64_t instruction = 0;
        if (layout.code_instructions == PythonLayout::kNone) {
          std::int32_t number = 0;
          if (!get<kCare>(frame, layout.frame_instruction, number)) return FrameWalk::Broken;
          instruction = static_cast<std::uint64_t>(std::int64_t{number});
        } else if (!get<kCare>(frame, layout.frame_instruction, instruction)) {
          return FrameWalk::Broken;
        }
        visit(code, instruction);
        ++taken;
      }
    }
    if (!get<kCare>(frame, layout.frame_previous, frame)) return FrameWalk::Broken;
  }
  return FrameWalk::Whole;
}

/// 0: this thread is not in Python.
template <Care kCare>
STREAMSAN_HOT_CODE FrameWalk find_innermost(std::uint64_t& frame) {
  frame = 0;
  if (g_python.is_finalizing()) return FrameWalk::Whole;
  if (g_python.newest_interpreter && g_python.newest_interpreter() != g_python.main_interpreter())
    return FrameWalk::Whole;
  const auto state = reinterpret_cast<std::uint64_t>(g_python.thread_state());
  if (state == 0) return FrameWalk::Whole;
  if (!get<kCare>(state, g_python.layout.thread_frame, frame)) return FrameWalk::Broken;
  const std::uint16_t hop = g_python.layout.frame_in_hop;
  return hop == PythonLayout::kNone || get<kCare>(frame, hop, frame) ? FrameWalk::Whole : FrameWalk::Broken;
}

template <typename Visit>
void each_frame_of_mine(Visit visit) {
  std::uint64_t frame = 0;
  if (find_innermost<Care::Direct>(frame) == FrameWalk::Whole) each_frame<Care::Direct>(frame, visit);
}

/// The first walk. Decides about all later ones, unless this thread is not in Python.
bool first_walk_succeeds() {
  unsigned frames = 0;
  bool plain = true;
  std::uint64_t innermost = 0;
  FrameWalk walk = find_innermost<Care::Checked>(innermost);
  if (walk == FrameWalk::Whole) {
    walk = each_frame<Care::Checked>(innermost, [&](std::uint64_t code, std::uint64_t) {
      ++frames;
      std::uint64_t lines = 0;
      std::uint64_t type = 0;
      plain = plain && get<Care::Checked>(code, g_python.layout.code_lines, lines) &&
              get<Care::Checked>(lines, kObjectType, type) && type == g_python.bytes_type;
    });
  }
  if (walk == FrameWalk::Broken || !plain) {
    refuse(SS_NO_LINES "the frames of its interpreter are not where they are expected");
    return false;
  }
  if (frames == 0) return false;
  auto untried = PythonState::Untried;
  g_python_state.compare_exchange_strong(untried, PythonState::Ready, std::memory_order_acq_rel);
  return true;
}

// ---- describing

PythonText text_at(std::uint64_t address) {
  std::uint64_t object = load_at<std::uint64_t>(address);
  std::uint64_t type = 0;
  if (!get<Care::Direct>(object, kObjectType, type) || type != g_python.text_type) return {};
  return {g_python.layout, object};
}

/// Bytes from the start of the code to the instruction that the frame is at. False: it has not begun.
bool instruction_offset(std::uint64_t code, std::uint64_t instruction, std::uint32_t& out) {
  const PythonLayout& layout = g_python.layout;
  constexpr std::uint64_t kMostBytes = 1u << 30;
  std::uint64_t offset = 0;
  if (layout.code_instructions == PythonLayout::kNone) {
    if (static_cast<std::int64_t>(instruction) < 0) return false;
    offset = instruction * layout.instruction_bytes;
  } else {
    constexpr std::uint64_t kUnit = 2;
    offset = instruction - (code + layout.code_instructions);
    if (offset >= load_at<std::uint64_t>(code + kObjectSize) * kUnit) return false;
  }
  out = static_cast<std::uint32_t>(offset);
  return offset < kMostBytes;
}

/// The table of lines; empty if there is none to be read.
std::string_view lines_of(std::uint64_t code) {
  constexpr std::uint64_t kMostBytes = 1u << 28;
  const auto table = load_at<std::uint64_t>(code + g_python.layout.code_lines);
  std::uint64_t type = 0;
  if (!get<Care::Direct>(table, kObjectType, type) || type != g_python.bytes_type) return {};
  const auto length = load_at<std::uint64_t>(table + kObjectSize);
  return {reinterpret_cast<const char*>(table + kBytesData), length > kMostBytes ? 0 : length};
}

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
std::uint32_t frame_id(std::uint64_t code, std::uint64_t instruction) {
  const PythonLayout& layout = g_python.layout;
  std::uint32_t offset = 0;
  if (!instruction_offset(code, instruction, offset)) return 0;
  std::uint64_t hash = mix_bits(code);
  const std::string_view lines = lines_of(code);
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
  const std::uint32_t id = intern(text_at(code + layout.code_function), text_at(code + layout.code_file),
                                  python_line(layout.lines, reinterpret_cast<const unsigned char*>(lines.data()),
                                              lines.size(), first_line, offset));
  if (id != 0) known.store(high | id, std::memory_order_relaxed);
  return id;
}

}  // namespace

STREAMSAN_HOT_CODE std::uint64_t detail::hash_chain() {
  if (g_python_state.load(std::memory_order_relaxed) == PythonState::Untried && !first_walk_succeeds()) return 0;
  std::uint64_t hash = 0;
  const std::uint16_t version_at = g_python.layout.code_version;
  each_frame_of_mine([&hash, version_at](std::uint64_t code, std::uint64_t instruction) {
    const auto version = version_at == PythonLayout::kNone ? 0 : load_at<std::uint32_t>(code + version_at);
    if (version != 0) [[likely]] {
      hash = (hash ^ code ^ std::uint64_t{version} << 32) * 0x9e3779b97f4a7c15ull;
      hash = (hash ^ hash >> 32 ^ instruction) * 0x94d049bb133111ebull;
      hash ^= hash >> 31;
      return;
    }
    // Its first line and its table of lines as well, and how that begins and ends: a code object may have gone, and
    // another one be where it was. (A table is never shorter than what is read: it has a head, and a zero behind it.)
    const auto lines = load_at<std::uint64_t>(code + g_python.layout.code_lines);
    const auto length = load_at<std::uint64_t>(lines + kObjectSize);
    const auto begin = load_at<std::uint64_t>(lines + kBytesData);
    const auto end = load_at<std::uint64_t>(lines + kBytesData + length - sizeof(std::uint64_t));
    const auto first_line = load_at<std::uint32_t>(code + g_python.layout.code_first_line);
    hash = (hash ^ code ^ instruction << 16 ^ std::uint64_t{first_line} << 48) * 0x9e3779b97f4a7c15ull;
    hash = (hash ^ hash >> 29 ^ instruction ^ lines << 8) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ hash >> 32 ^ begin ^ end << 7 ^ length << 48) * 0x94d049bb133111ebull;
    hash ^= hash >> 31;
  });
  return hash;
}

void capture_python(PythonStack& out) {
  out.count = 0;
  each_frame_of_mine([&out](std::uint64_t code, std::uint64_t instruction) {
    const std::uint32_t id = frame_id(code, instruction);
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

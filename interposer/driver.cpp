// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/driver.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "interposer/hot.h"
#include "interposer/loaded_object.h"
#include "interposer/machine.h"
#include "interposer/profilers.h"
#include "interposer/this_library.h"
#include "interposer/unmodelled.h"

namespace streamsan::recorder {

// A fork keeps g_entry, g_dlsym, g_driver, g_driver_bounds, g_tools, g_has_tools: libraries lie where they lay.
STREAMSAN_HOT_TABLE constinit std::atomic<void*> g_entry[api::kRowCount] = {};

namespace {

using Dlsym = void* (*)(void*, const char*);
constinit std::atomic<Dlsym> g_dlsym{nullptr};
constinit std::atomic<void*> g_driver{nullptr};

/// Of glibc's functions that were there when it came to the processor.
#if defined __x86_64__
constexpr const char* kFirstVersion = "GLIBC_2.2.5";
#else
constexpr const char* kFirstVersion = "GLIBC_2.17";
#endif

Dlsym find_dlsym() {
  // dlsym moved from libdl to libc in glibc 2.34 and got a new version there.
  void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (!found) found = dlvsym(RTLD_NEXT, "dlsym", kFirstVersion);
  auto function = reinterpret_cast<Dlsym>(found);
  g_dlsym.store(function, std::memory_order_release);
  return function;
}

void* driver_handle() {
  void* known = g_driver.load(std::memory_order_acquire);
  if (known) return known;
  void* loaded = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!loaded) {
    dlerror();  // the guest must not find our failure
    return nullptr;
  }
  // The reference is kept: entry points stay valid even if the guest closes its handle.
  g_driver.store(loaded, std::memory_order_release);
  return loaded;
}

/// Bounds of the driver, and of the libraries that measure: an agent and what it has loaded.
struct Bounds {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> size{0};
};
STREAMSAN_HOT_DATA constinit Bounds g_driver_bounds;
constexpr std::size_t kMostTools = 2;
STREAMSAN_HOT_DATA constinit std::atomic<bool> g_has_tools{false};
constinit Bounds g_tools[kMostTools];

bool is_in(const Bounds& bounds, std::uintptr_t at) {
  return at - bounds.begin.load(std::memory_order_relaxed) < bounds.size.load(std::memory_order_relaxed);
}

struct Search {
  std::uintptr_t inside;
  Bounds* out;
};

/// For dl_iterate_phdr: remembers the bounds of the object that holds the address.
int find_bounds(dl_phdr_info* info, std::size_t, void* given) {
  const ObjectBounds bounds = bounds_of(*info);
  const Search& search = *static_cast<const Search*>(given);
  if (search.inside < bounds.low || search.inside >= bounds.high) return 0;
  search.out->begin.store(bounds.low, std::memory_order_relaxed);
  search.out->size.store(bounds.high - bounds.low, std::memory_order_relaxed);
  return 1;
}

void find_bounds_of(const void* inside, Bounds& out) {
  Search search{reinterpret_cast<std::uintptr_t>(inside), &out};
  if (inside) dl_iterate_phdr(find_bounds, &search);
}

/// Row indices sorted by base name: cuGetProcAddress("cuMemcpy") may answer with any version of it.
constexpr auto kByBase = [] {
  std::array<std::uint16_t, api::kRowCount> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
  std::ranges::sort(order, {}, [](std::uint16_t i) { return api::kRows[i].base; });
  return order;
}();

}  // namespace

void* real_dlsym(void* handle, const char* name) {
  Dlsym function = g_dlsym.load(std::memory_order_acquire);
  if (!function) function = find_dlsym();
  return function ? function(handle, name) : nullptr;
}

void* look_up_behind(const char* name) {
  void* behind = real_dlsym(RTLD_NEXT, name);
  // Without this it would be a jump, after which glibc would take the guest for the caller.
  asm volatile("" : "+r"(behind));
  return behind;
}

void resolve_entries() {
  for (std::size_t row = 0; row < api::kRowCount; ++row) {
    if (wrapper_of_row(row)) driver_entry(row);
  }
  find_bounds_of(driver_entry(api::Index::cuInit), g_driver_bounds);
}

void note_tools(const void* agent, const void* library) {
  find_bounds_of(agent, g_tools[0]);
  find_bounds_of(library, g_tools[1]);
  g_has_tools.store(true, std::memory_order_release);
}

STREAMSAN_HOT_CODE bool is_in_driver(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (is_in(g_driver_bounds, at)) return true;
  if (!g_has_tools.load(std::memory_order_acquire)) return false;
  return is_in(g_tools[0], at) || is_in(g_tools[1], at);
}

bool driver_is_loaded() { return driver_handle() != nullptr; }

void* find_entry(std::size_t row) {
  void* handle = driver_handle();
  if (!handle) return nullptr;
  // Symbols of string literals are NUL-terminated.
  void* entry = real_dlsym(handle, api::kRows[row].symbol.data());
  if (!entry) {
    dlerror();
    return nullptr;
  }
  g_entry[row].store(entry, std::memory_order_release);
  return entry;
}

void* wrapper_for_symbol(const char* name, void* address) {
  const api::Row* row = api::find_row(name);
  if (!row) {
    // Other libraries have names that begin with "cu" too, of functions and of data.
    void* handle = driver_handle();
    void* of_driver = handle ? real_dlsym(handle, name) : nullptr;
    if (!of_driver) dlerror();  // the guest's look-up succeeded
    return of_driver == address && !is_in_this_library(address) ? counting_entry(name, address) : address;
  }
  auto index = static_cast<std::size_t>(row - api::kRows);
  void* wrapper = wrapper_of_row(index);
  if (!wrapper) return address;
  // Our own export, found in the default scope. Without a driver the program must find nothing.
  if (is_in_this_library(address)) return driver_is_loaded() ? wrapper : look_up_behind(name);
  return driver_entry(index) == address ? wrapper : address;
}

void* wrapper_for_base(const char* base, void* address) {
  auto [first, last] =
      std::ranges::equal_range(kByBase, std::string_view(base), {}, [](std::uint16_t i) { return api::kRows[i].base; });
  if (first == last) return counting_entry(base, address);
  for (auto at = first; at != last; ++at) {
    if (driver_entry(*at) != address) continue;
    void* wrapper = wrapper_of_row(*at);
    return wrapper ? wrapper : address;
  }
  // A version of a known function that the table does not have: newer than the toolkit this was built with.
  return counting_entry(base, address);
}

}  // namespace streamsan::recorder

// ---- the hook of dlsym
// ---------------------------------------------------------------------------------------------------

extern "C" {

__attribute__((visibility("hidden"))) void* streamsan_dlsym_driver(void* handle, const char* name) {
  using namespace streamsan::recorder;
  void* found = real_dlsym(handle, name);
  if (!found) return nullptr;
  return name[2] == 'p' ? profiler_entry(name, found, __builtin_return_address(0)) : wrapper_for_symbol(name, found);
}

/// In the default scope glibc searches the caller's own libraries too, which only a jump preserves: only names that we
/// export are ours to answer there.
__attribute__((visibility("hidden"))) bool streamsan_answers_default_scope(const char* name) {
  using namespace streamsan;
  const api::Row* row = api::find_row(name);
  return row ? recorder::wrapper_of_row(static_cast<std::size_t>(row - api::kRows)) != nullptr
             : recorder::is_profiler_entry(name);
}

__attribute__((visibility("hidden"))) void* streamsan_find_dlsym() {
  using namespace streamsan::recorder;
  Dlsym known = g_dlsym.load(std::memory_order_acquire);
  return reinterpret_cast<void*>(known ? known : find_dlsym());
}
}

// dlsym(RTLD_NEXT, ...) finds "the next object after the caller", and glibc takes the caller from the return address.
// So every look-up that is none of our business must reach the real dlsym by a jump, with the guest's return address
// where a call leaves it: this cannot be written in C++. Ours are names that look like "cuX..." or "cup..." on a
// handle other than RTLD_NEXT (-1).
#define SS_DLSYM_BEGIN \
  "  .text\n  .p2align 4\n  .globl dlsym\n  .type dlsym, %function\ndlsym:\n  .cfi_startproc\n" SS_ASM_ENTRY
#define SS_DLSYM_END "  .cfi_endproc\n  .size dlsym, .-dlsym\n"

#if defined __x86_64__
asm(SS_DLSYM_BEGIN R"(
  testq %rsi, %rsi
  je 1f
  cmpq $-1, %rdi
  je 1f
  cmpb $99, (%rsi)            # 'c'
  jne 1f
  cmpb $117, 1(%rsi)          # 'u'
  jne 1f
  movzbl 2(%rsi), %eax
  cmpl $112, %eax             # 'p'
  je 3f
  subl $65, %eax              # 'A'..'Z'
  cmpl $25, %eax
  ja 1f
3:
  testq %rdi, %rdi            # RTLD_DEFAULT
  jne 2f
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movq %rsi, %rdi
  call streamsan_answers_default_scope
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testb %al, %al
  je 1f
2:
  jmp streamsan_dlsym_driver
1:
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call streamsan_find_dlsym
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%rax
)" SS_DLSYM_END);
#else
asm(R"(
  .macro streamsan_save
  stp x29, x30, [sp, #-32]!
  .cfi_adjust_cfa_offset 32
  .cfi_rel_offset x29, 0
  .cfi_rel_offset x30, 8
  stp x0, x1, [sp, #16]
  mov x29, sp
  .endm
  .macro streamsan_restore
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_adjust_cfa_offset -32
  .cfi_restore x29
  .cfi_restore x30
  .endm
)" SS_DLSYM_BEGIN R"(
  cbz x1, 1f
  cmn x0, #1
  b.eq 1f
  ldrb w9, [x1]
  cmp w9, #99                 // 'c'
  b.ne 1f
  ldrb w9, [x1, #1]
  cmp w9, #117                // 'u'
  b.ne 1f
  ldrb w9, [x1, #2]
  cmp w9, #112                // 'p'
  b.eq 3f
  sub w9, w9, #65             // 'A'..'Z'
  cmp w9, #25
  b.hi 1f
3:
  cbnz x0, 2f                 // RTLD_DEFAULT
  streamsan_save
  mov x0, x1
  bl streamsan_answers_default_scope
  mov w9, w0
  streamsan_restore
  tbz w9, #0, 1f
2:
  b streamsan_dlsym_driver
1:
  streamsan_save
  bl streamsan_find_dlsym
  mov x16, x0
  streamsan_restore
  br x16
  .purgem streamsan_save
  .purgem streamsan_restore
)" SS_DLSYM_END);
#endif

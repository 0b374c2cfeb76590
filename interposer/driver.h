// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The real driver behind the wrappers: its entry points, and the mapping from them to ours.
//
// We never load the driver. When the guest has it, its exports are looked up by name with the real dlsym, one by one as
// they are needed; no lock is held and no thread waits for another, because look-ups happen inside dlopen, inside the
// driver's own initialisation and between two threads that hold the loader's lock.
#pragma once

#include <atomic>
#include <cstddef>

#include "ordering/api/row.h"

namespace streamsan::recorder {

/// dlsym of the C library (or of the next preloaded library that hooks it).
void* real_dlsym(void* handle, const char* name);

/// Of the libraries behind this one in the order of loading. Null: none has it, and dlerror() says so.
void* look_up_behind(const char* name);

/// True if libcuda.so.1 is in this process. Does not load it.
bool driver_is_loaded();

extern constinit std::atomic<void*> g_entry[api::kRowCount];

void* find_entry(std::size_t row);

/// The driver's export of this row, or nullptr if the driver is absent or too old.
inline void* driver_entry(std::size_t row) {
  void* known = g_entry[row].load(std::memory_order_acquire);
  return known ? known : find_entry(row);
}

/// The driver's function of this name, with its type from cuda.h, which the user includes before; nullptr: the driver
/// is absent or too old. A macro, as one token names both the declaration and the row.
#define SS_DRIVER(name_) \
  reinterpret_cast<decltype(&::name_)>(::streamsan::recorder::driver_entry(::streamsan::api::Index::name_))

/// Looks all wrapped entry points up now: a look-up takes the loader's lock, which a later call may not be able to get
/// (a library's constructor that waits for a thread which calls CUDA).
void resolve_entries();

/// Is this return address inside the driver, or inside of a library that measures for us? Then the call is none of the
/// program's: the waits around a measured launch, for example, are not to count as order that the program makes. Known
/// after resolve_entries() and note_tools().
bool is_in_driver(const void* address);

/// An address in the agent that measures, and one in the library that it uses, or null.
void note_tools(const void* agent, const void* library);

/// The address to give to a guest that looked up `name` and got `address`: our wrapper if the address is the driver's
/// export of a row that is wrapped, else the address itself.
void* wrapper_for_symbol(const char* name, void* address);

/// The same for cuGetProcAddress, which is asked for a name without version and answers with the address of some
/// version.
void* wrapper_for_base(const char* base, void* address);

}  // namespace streamsan::recorder

// One entry for each row. The even ones are in the first table, the odd ones in the second; the others, and those of
// rows that are passed through, are null (hooks.h).
extern "C" {
extern void* const streamsan_even_wrappers[] __attribute__((visibility("hidden")));
extern void* const streamsan_odd_wrappers[] __attribute__((visibility("hidden")));
}

namespace streamsan::recorder {

/// Null: it is passed through.
inline void* wrapper_of_row(std::size_t row) {
  return (row % 2 ? streamsan_odd_wrappers : streamsan_even_wrappers)[row];
}

}  // namespace streamsan::recorder

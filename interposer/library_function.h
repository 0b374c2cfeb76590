// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of PyTorch and cuBLAS that we call, and those in whose place ours stand.
//
// A library that is preloaded comes first where the loader looks for symbols, so a call that goes through the procedure
// linkage table finds our function of that name. The library's own is often not where dlsym(RTLD_NEXT) looks: Python
// opens its modules apart from one another.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "interposer/driver.h"
#include "interposer/loaded_object.h"
#include "interposer/this_library.h"

namespace streamsan::recorder {

namespace detail {

/// The function that the library, if it is loaded, or one that it needs has under this name; null: none but ours.
inline void* in_library(const char* path, const char* name) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  void* found = library ? real_dlsym(library, name) : nullptr;
  if (library) dlclose(library);
  (void)dlerror();
  return is_in_this_library(found) ? nullptr : found;
}

/// What was found is called for as long as the process lives.
inline void keep_loaded(void* function) {
  Dl_info info{};
  if (!dladdr(function, &info) || !info.dli_fname) return;
  (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  (void)dlerror();
}

struct HoldingObject {
  std::uint64_t address;
  ObjectBounds bounds{};
  char path[4096] = {};
};

/// For dl_iterate_phdr().
inline int find_holding_object(dl_phdr_info* info, std::size_t, void* argument) {
  auto& object = *static_cast<HoldingObject*>(argument);
  const ObjectBounds bounds = bounds_of(*info);
  if (object.address < bounds.low || object.address >= bounds.high) return 0;
  object.bounds = bounds;
  if (std::strlen(info->dlpi_name) < sizeof object.path) std::strcpy(object.path, info->dlpi_name);
  return 1;
}

/// How many objects were ever loaded: what was not there may be there once this has grown.
inline std::uint64_t objects_loaded() {
  std::uint64_t count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

}  // namespace detail

/// A function that we call.
template <typename Function>
class LibraryFunction {
 public:
  /// The function `name` of the library that is loaded under the name `library`.
  constexpr LibraryFunction(const char* library, const char* name) : library_(library), name_(name) {}

  /// Null: there is none, so far. It stays as long as the library that calls us, which needs it.
  Function* get() {
    Function* known = known_.load(std::memory_order_acquire);
    if (known) return known;
    auto* found = reinterpret_cast<Function*>(detail::in_library(library_, name_));
    if (found) known_.store(found, std::memory_order_release);
    return found;
  }

 private:
  const char* library_;
  const char* name_;
  std::atomic<Function*> known_{nullptr};
};

/// The names that a library has in its versions, the newest first.
struct LibraryNames {
  constexpr LibraryNames(const char* newest, const char* older = nullptr, const char* oldest = nullptr)  // NOLINT
      : names{newest, older, oldest} {}
  const char* names[3];
};

/// A function that stands behind ours, or beside one that does: it is the one that the caller would have got without
/// us. There may be several: a process may have two copies of PyTorch, each opened apart from the other, or one that is
/// a part of another library, and a call that got the wrong one would work on the state of the other. So it is looked
/// up for each object that calls, as the loader does: through all that is global, then through the object and what that
/// needs. (That such an object goes, and one that belongs to another copy comes to where it was, is left out of
/// account.)
template <typename Function>
class LibraryOriginal {
 public:
  /// `libraries`: where it is looked for last of all.
  constexpr LibraryOriginal(LibraryNames libraries, const char* name) : libraries_(libraries), name_(name) {}

  /// For `caller`, an address of code. Null: there is none.
  Function* get_for(const void* caller) {
    const auto address = reinterpret_cast<std::uint64_t>(caller);
    for (const Known& known : known_) {
      const std::uint64_t answer = known.answer.load(std::memory_order_acquire);
      const std::uint64_t begin = known.begin.load(std::memory_order_relaxed);
      if (answer == kNotYet || address - begin >= known.bytes.load(std::memory_order_relaxed)) continue;
      if (answer != kNone) return reinterpret_cast<Function*>(answer);
      if (known.loaded.load(std::memory_order_relaxed) == detail::objects_loaded()) return nullptr;
    }
    return look_up(address);
  }

 private:
  static constexpr std::uint64_t kNotYet = 0;
  static constexpr std::uint64_t kNone = 1;

  /// An object that calls. The first two are written once: by the thread that has set `begin`.
  struct Known {
    std::atomic<std::uint64_t> begin{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> loaded{0};  ///< objects_loaded() when there was none
    std::atomic<std::uint64_t> answer{kNotYet};
  };

  [[gnu::cold, gnu::noinline]] Function* look_up(std::uint64_t caller) {
    const std::uint64_t loaded = detail::objects_loaded();
    detail::HoldingObject object{.address = caller};
    dl_iterate_phdr(detail::find_holding_object, &object);
    void* found = real_dlsym(RTLD_NEXT, name_);
    if (!found && object.path[0]) found = detail::in_library(object.path, name_);
    for (const char* library : libraries_.names)
      if (!found && library) found = detail::in_library(library, name_);
    (void)dlerror();
    if (found) detail::keep_loaded(found);
    if (object.bounds.high != 0)
      remember(object.bounds, found ? reinterpret_cast<std::uint64_t>(found) : kNone, loaded);
    return reinterpret_cast<Function*>(found);
  }

  /// Objects for which there is no room are looked up for each call.
  void remember(const ObjectBounds& bounds, std::uint64_t answer, std::uint64_t loaded) {
    for (Known& known : known_) {
      std::uint64_t begin = 0;
      const bool is_new = known.begin.compare_exchange_strong(begin, bounds.low, std::memory_order_relaxed);
      if (!is_new && begin != bounds.low) continue;
      if (is_new) known.bytes.store(bounds.high - bounds.low, std::memory_order_relaxed);
      known.loaded.store(loaded, std::memory_order_relaxed);
      known.answer.store(answer, std::memory_order_release);
      return;
    }
  }

  LibraryNames libraries_;
  const char* name_;
  Known known_[8];
};

}  // namespace streamsan::recorder

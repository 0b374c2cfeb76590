// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of PyTorch's in whose place ours stand, and those that we call.
//
// A library that is preloaded comes first where the loader looks for symbols, so a call of PyTorch's that goes through
// the procedure linkage table finds our function of that name. PyTorch's own is often not where dlsym(RTLD_NEXT) looks:
// Python opens its modules apart from one another.
#pragma once

#include <dlfcn.h>

#include <atomic>

#include "interposer/driver.h"

namespace streamsan::recorder {

template <typename Function>
class TorchFunction {
 public:
  /// Of the library that is loaded under this name.
  constexpr TorchFunction(const char* library, const char* name) : library_(library), name_(name) {}

  /// Null: there is none.
  Function* get() {
    Function* known = known_.load(std::memory_order_acquire);
    return known ? known : learn(of_library(library_));
  }

  /// The one that `caller`, an address of code, would have got without us: it must not be left out. The library may
  /// have another name; then the loader's ways are gone: through all that is global, and through what the caller needs.
  Function* get_for(const void* caller) {
    if (Function* known = get()) [[likely]]
      return known;
    if (Function* next = learn(real_dlsym(RTLD_NEXT, name_))) return next;
    Dl_info info{};
    return learn(dladdr(caller, &info) && info.dli_fname ? of_library(info.dli_fname) : nullptr);
  }

 private:
  Function* learn(void* found) {
    auto* function = reinterpret_cast<Function*>(found);
    if (function)
      known_.store(function, std::memory_order_release);
    else
      (void)dlerror();
    return function;
  }

  void* of_library(const char* path) {
    void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return nullptr;
    void* found = real_dlsym(library, name_);
    // The library stays as long as the one that calls us, which needs it.
    dlclose(library);
    return found;
  }

  const char* library_;
  const char* name_;
  std::atomic<Function*> known_{nullptr};
};

}  // namespace streamsan::recorder

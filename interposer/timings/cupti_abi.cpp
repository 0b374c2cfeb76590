// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/timings/cupti_abi.h"

#include <dlfcn.h>

#include <cstdio>

namespace streamsan::cupti {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"};

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out != nullptr;
}

/// A framework with a profiler has CUPTI loaded, and two of them in one process exclude each other.
void* open(const char* path) {
  for (const char* name : kNames) {
    if (void* loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return loaded;
  }
  if (path && *path) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace

const char* load(const char* path, Api& api) {
  static char problem[512];
  void* library = open(path);
  if (!library) {
    const char* why = dlerror();
    std::snprintf(problem, sizeof problem, "%s", why ? why : "libcupti.so cannot be loaded");
    return problem;
  }
  const bool complete =
      find(library, "cuptiSubscribe", api.subscribe) && find(library, "cuptiUnsubscribe", api.unsubscribe) &&
      find(library, "cuptiEnableCallback", api.enable_callback) &&
      find(library, "cuptiGetCallbackName", api.callback_name) &&
      find(library, "cuptiActivityRegisterCallbacks", api.register_callbacks) &&
      find(library, "cuptiActivityEnable", api.enable) &&
      find(library, "cuptiActivityGetNextRecord", api.next_record) &&
      find(library, "cuptiActivityGetNumDroppedRecords", api.dropped) &&
      find(library, "cuptiActivityFlushAll", api.flush_all) && find(library, "cuptiGetTimestamp", api.timestamp) &&
      find(library, "cuptiGetResultString", api.result_string) && find(library, "cuptiGetVersion", api.version);
  if (!complete) return "the CUPTI library lacks functions: it is too old";
  find(library, "cuptiActivityRegisterTimestampCallback", api.register_timestamp);
  return nullptr;
}

}  // namespace streamsan::cupti

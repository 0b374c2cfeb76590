// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/sanitizer_api.h"

#include <dlfcn.h>

#include <cstdio>

namespace streamsan::footprints {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out != nullptr;
}

}  // namespace

const char* load_sanitizer(const char* path, SanitizerApi& api) {
  static char problem[512];
  const char* name = path && *path ? path : "libsanitizer-public.so";
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    std::snprintf(problem, sizeof problem, "%s", why ? why : name);
    return problem;
  }
  const bool complete = find(library, "sanitizerSubscribe", api.subscribe) &&
                        find(library, "sanitizerEnableDomain", api.enable_domain) &&
                        find(library, "sanitizerEnableCallback", api.enable_callback) &&
                        find(library, "sanitizerAddPatches", api.add_patches) &&
                        find(library, "sanitizerPatchInstructions", api.patch_instructions) &&
                        find(library, "sanitizerPatchModule", api.patch_module) &&
                        find(library, "sanitizerUnpatchModule", api.unpatch_module) &&
                        find(library, "sanitizerSetLaunchCallbackData", api.set_launch_data);
  if (complete) return nullptr;
  std::snprintf(problem, sizeof problem, "%s lacks functions of the Sanitizer API: it is too old", name);
  return problem;
}

}  // namespace streamsan::footprints

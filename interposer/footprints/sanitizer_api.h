// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's Sanitizer API, loaded when it is needed: nothing is linked, so the agent can be built where the library is
// and run where it may not be.
#pragma once

#include <sanitizer.h>

namespace streamsan::footprints {

struct SanitizerApi {
  decltype(&::sanitizerSubscribe) subscribe;
  decltype(&::sanitizerEnableDomain) enable_domain;
  decltype(&::sanitizerEnableCallback) enable_callback;
  decltype(&::sanitizerAddPatches) add_patches;
  decltype(&::sanitizerPatchInstructions) patch_instructions;
  decltype(&::sanitizerPatchModule) patch_module;
  decltype(&::sanitizerUnpatchModule) unpatch_module;
  decltype(&::sanitizerSetLaunchCallbackData) set_launch_data;
};

/// Loads the library (path, or null: by its name). Returns null, or what is wrong, valid until the next call.
const char* load_sanitizer(const char* path, SanitizerApi& api);

}  // namespace streamsan::footprints

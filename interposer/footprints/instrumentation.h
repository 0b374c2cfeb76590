// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one module whose code is patched, and what its kernels are given.
//
// A patched kernel hands `user` to the patches, and a launch has a `user` only if the callback of launches gives it
// one: what the patches of another launch are handed, is not documented, and they follow it. So while a module is
// patched, each launch of the process is listened to. The launch that is measured gets its marks, all others get null.
// When a kernel does not end in time its module stays patched for long, and other launches come.
#pragma once

#include <cuda.h>

#include "interposer/footprints/agent.h"

namespace streamsan::footprints {

/// Loads the Sanitizer and subscribes to it. Returns null, or what is wrong.
const char* start_instrumentation(const StreamSanHost& host);
/// Loads the patches into a context. Returns null, or what is wrong. kExcluded: no context will ever take them.
const char* add_patches(CUcontext context);
extern const char kExcluded[];

/// Patches the module. Whatever the result, unpatch() must follow. The GPU is idle.
const char* patch(CUmodule module);
/// Does nothing if no module is patched. The GPU is idle, or what runs has no code of the module.
void unpatch();
/// The patched module is gone: unpatch() is to leave its handle alone.
void patched_module_is_gone();

/// What launches of this thread hand to the patches, from here on; null: nothing is to be marked.
void give_marks(const void* marks);
/// Has a launch taken the marks since?
bool marks_were_taken();

/// In the child of a fork.
void forget_instrumentation();

}  // namespace streamsan::footprints

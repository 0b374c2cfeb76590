// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/instrumentation.h"

#include <cstdio>

#include "interposer/footprints/api_callbacks.h"
#include "interposer/footprints/kernel_code.h"
#include "interposer/footprints/sanitizer_api.h"
#include "interposer/footprints/tensor_code.h"

extern "C" const char streamsan_patch_image[];  // patch_image.S

namespace streamsan::footprints {

constexpr char kExcluded[] =
    "another tool receives the driver's callbacks (CUPTI: a profiler?), and the two exclude each other";

namespace {

struct Patch {
  Sanitizer_InstructionId instruction;
  const char* function;
};
constexpr Patch kPatches[] = {
    {SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, "streamsan_access"},
    {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, "streamsan_async_copy"},
    {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, "streamsan_bulk_load"},
    {SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL, "streamsan_bulk_store"},
    {SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL, "streamsan_bulk_reduction"},
};

constinit SanitizerApi g_api{};
constinit Sanitizer_SubscriberHandle g_subscriber{};
constinit ApiCallbacks g_api_callbacks{};
constinit bool g_ever_added = false;
constinit CUmodule g_patched = nullptr;
constinit bool g_listening = false;
char g_problem[160];

thread_local const void* t_marks = nullptr;
thread_local bool t_taken = false;

const char* sanitizer_problem(const char* what, SanitizerResult result) {
  std::snprintf(g_problem, sizeof g_problem, "%s failed with error %d", what, static_cast<int>(result));
  return g_problem;
}

void on_callback(void*, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void* data) {
  if (domain == SANITIZER_CB_DOMAIN_RESOURCE && id == SANITIZER_CBID_RESOURCE_MODULE_LOADED) {
    const auto& module = *static_cast<const Sanitizer_ResourceModuleData*>(data);
    if (module.pCubin) {
      note_tensor_code(module.pCubin, module.cubinSize);
      note_kernel_code(module.pCubin, module.cubinSize);
    }
    return;
  }
  if (domain != SANITIZER_CB_DOMAIN_LAUNCH || id != SANITIZER_CBID_LAUNCH_AFTER_SYSCALL_SETUP) return;
  const auto& launch = *static_cast<const Sanitizer_LaunchData*>(data);
  if (g_api.set_launch_data(launch.hLaunch, launch.function, launch.hStream, t_marks) == SANITIZER_SUCCESS && t_marks)
    t_taken = true;
}

SanitizerResult listen(bool on) {
  const SanitizerResult result = g_api.enable_domain(on ? 1 : 0, g_subscriber, SANITIZER_CB_DOMAIN_LAUNCH);
  if (result == SANITIZER_SUCCESS || !on) g_listening = on;
  return result;
}

}  // namespace

const char* start_instrumentation(const StreamSanHost& host) {
  if (const char* problem = load_sanitizer(host.sanitizer_library, g_api)) return problem;
  g_api_callbacks.remember(reinterpret_cast<decltype(&::cuGetExportTable)>(host.driver_entry("cuGetExportTable")));
  const SanitizerResult subscribed = g_api.subscribe(&g_subscriber, on_callback, nullptr);
  g_api_callbacks.restore();  // at once: somebody else may subscribe from here on
  if (subscribed != SANITIZER_SUCCESS) return sanitizer_problem("subscribing to the Sanitizer", subscribed);
  g_api.enable_callback(1, g_subscriber, SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CBID_RESOURCE_MODULE_LOADED);
  return nullptr;
}

const char* add_patches(CUcontext context) {
  const SanitizerResult added = g_api.add_patches(streamsan_patch_image, context);
  // The first context of all: the Sanitizer knows of none yet.
  if (added != SANITIZER_SUCCESS) return g_ever_added ? sanitizer_problem("adding the patches", added) : kExcluded;
  g_ever_added = true;
  return nullptr;
}

const char* patch(CUmodule module) {
  for (const Patch& patch : kPatches) {
    const SanitizerResult chosen = g_api.patch_instructions(patch.instruction, module, patch.function);
    if (chosen != SANITIZER_SUCCESS) return sanitizer_problem("choosing what to patch", chosen);
  }
  const SanitizerResult listening = listen(true);
  if (listening != SANITIZER_SUCCESS) return sanitizer_problem("listening to launches", listening);
  g_patched = module;  // also if that fails half-way
  const SanitizerResult patched = g_api.patch_module(module);
  return patched == SANITIZER_SUCCESS ? nullptr : sanitizer_problem("patching its module", patched);
}

void unpatch() {
  // The module may be gone by now; then this fails, and nothing is lost.
  if (g_patched) g_api.unpatch_module(g_patched);
  g_patched = nullptr;
  if (g_listening) listen(false);
}

void patched_module_is_gone() { g_patched = nullptr; }

void give_marks(const void* marks) {
  if (marks) t_taken = false;
  t_marks = marks;
}

bool marks_were_taken() { return t_taken; }

void forget_instrumentation() {
  g_subscriber = {};
  g_ever_added = false;
  g_patched = nullptr;
  g_listening = false;
}

}  // namespace streamsan::footprints

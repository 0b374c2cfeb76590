// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initialisation and contexts: those made by the program, and what is true of every context (the primary ones are made
// in primary.cpp). Each host thread has a stack of contexts, as in the driver; a context that another thread destroyed
// counts as none.

#include "testsuite/nulldriver/memory.h"
#include "testsuite/nulldriver/objects.h"

namespace streamsan::null {
namespace {

/// The contexts a thread has pushed. Trivially destructible: exit handlers run after the destructors of the main
/// thread's variables, and programs call the driver from there.
struct ContextStack {
  CUcontext entries[64];
  std::size_t count;

  [[nodiscard]] bool empty() const { return count == 0; }
  [[nodiscard]] CUcontext back() const { return entries[count - 1]; }
  void pop_back() { --count; }
  /// Deeper than any test goes: the bottom is lost.
  void push_back(CUcontext context) {
    if (count == std::size(entries)) {
      std::copy(entries + 1, entries + count, entries);
      --count;
    }
    entries[count++] = context;
  }
};
thread_local ContextStack context_stack{};

}  // namespace

CUcontext make_context(CUdevice device, unsigned flags) {
  CUcontext context = state().contexts.create();
  context->device = device;
  context->flags = flags;
  context->id = state().next_id++;
  return context;
}

CUcontext current_context() {
  if (context_stack.empty() || !state().contexts.alive(context_stack.back())) return nullptr;
  return context_stack.back();
}

CUresult require_context(CUcontext* context) {
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  *context = current_context();
  return *context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

void clear_context(CUcontext context) {
  for (CUstream stream : state().streams.all()) {
    if (stream->context == context) destroy_stream(stream);
  }
  for (CUevent event : state().events.all()) {
    if (event->context == context) state().events.destroy(event);
  }
  delete context->legacy;
  for (const auto& [thread, stream] : context->per_thread) {
    leave_capture(stream);
    delete stream;
  }
  for (CUcontext other : state().contexts.all()) other->peers.erase(context);
  release_context_memory(context);
}

}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuInit(unsigned flags) {
  SS_CALL(cuInit);
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  // Asked for without the lock: a setting that is refused ends the program here.
  device_count();
  const Lock lock = lock_state();
  state().initialised = true;
  return CUDA_SUCCESS;
}

SS_EXPORT cuDriverGetVersion(int* version) {
  SS_CALL(cuDriverGetVersion);
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

namespace {

CUresult create_context(CUcontext* context, unsigned flags, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS) return wrong;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  *context = make_context(device, flags);
  context_stack.push_back(*context);
  return CUDA_SUCCESS;
}

/// nullptr: the current context.
CUresult get_device(CUcontext context, CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (context == nullptr) {
    if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  }
  if (!state().contexts.alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}

}  // namespace

SS_EXPORT cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  SS_CALL(cuCtxCreate_v2);
  return create_context(context, flags, device);
}

SS_EXPORT cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned flags, CUdevice device) {
  SS_CALL(cuCtxCreate_v4);
  if (parameters != nullptr && (parameters->execAffinityParams != nullptr || parameters->cigParams != nullptr)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return create_context(context, flags, device);
}

SS_EXPORT cuCtxDestroy(CUcontext context) {
  SS_CALL(cuCtxDestroy);
  const Lock lock = lock_state();
  if (!state().contexts.alive(context) || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context_stack.empty() && context_stack.back() == context) context_stack.pop_back();
  clear_context(context);
  state().contexts.destroy(context);
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxPushCurrent(CUcontext context) {
  SS_CALL(cuCtxPushCurrent);
  const Lock lock = lock_state();
  if (!state().contexts.alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
  context_stack.push_back(context);
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxPopCurrent(CUcontext* context) {
  SS_CALL(cuCtxPopCurrent);
  const Lock lock = lock_state();
  if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = context_stack.back();
  context_stack.pop_back();
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxSetCurrent(CUcontext context) {
  SS_CALL(cuCtxSetCurrent);
  const Lock lock = lock_state();
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (context != nullptr && !state().contexts.alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context_stack.empty()) context_stack.pop_back();
  if (context != nullptr) context_stack.push_back(context);
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxGetCurrent(CUcontext* context) {
  SS_CALL(cuCtxGetCurrent);
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  *context = current_context();
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxGetDevice(CUdevice* device) {
  SS_CALL(cuCtxGetDevice);
  return get_device(nullptr, device);
}

SS_EXPORT cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  SS_CALL(cuCtxGetDevice_v2);
  return get_device(context, device);
}

SS_EXPORT cuCtxGetFlags(unsigned* flags) {
  SS_CALL(cuCtxGetFlags);
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  *flags = context->flags;
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxSetFlags(unsigned flags) {
  SS_CALL(cuCtxSetFlags);
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  context->flags = flags;
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxGetId(CUcontext context, unsigned long long* id) {
  SS_CALL(cuCtxGetId);
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (context == nullptr) {
    if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  }
  if (!state().contexts.alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *id = context->id;
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  SS_CALL(cuCtxGetApiVersion);
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (context != nullptr && !state().contexts.alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *version = 3020;
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxSetLimit(CUlimit limit, size_t value) {
  SS_CALL(cuCtxSetLimit);
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxGetLimit(size_t* value, CUlimit limit) {
  SS_CALL(cuCtxGetLimit);
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const auto found = context->limits.find(limit);
  constexpr std::size_t kStackBytes = 1024;
  constexpr std::size_t kHeapBytes = std::size_t{8} << 20;
  *value = found != context->limits.end() ? found->second : limit == CU_LIMIT_STACK_SIZE ? kStackBytes : kHeapBytes;
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  SS_CALL(cuCtxGetStreamPriorityRange);
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

namespace {

CUresult synchronize(CUcontext context) {
  {
    const Lock lock = lock_state();
    if (context == nullptr) {
      if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
    }
    if (!state().contexts.alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult refused = check_context_wait(context); refused != CUDA_SUCCESS) return refused;
  }
  block();
  return CUDA_SUCCESS;
}

}  // namespace

SS_EXPORT cuCtxSynchronize() {
  SS_CALL(cuCtxSynchronize);
  return synchronize(nullptr);
}

SS_EXPORT cuCtxSynchronize_v2(CUcontext context) {
  SS_CALL(cuCtxSynchronize_v2);
  return synchronize(context);
}

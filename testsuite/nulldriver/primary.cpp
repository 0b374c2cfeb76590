// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The primary context of each device: made when first retained, counted, gone with the last release or with a reset,
// whoever still holds it.

#include "testsuite/nulldriver/objects.h"

namespace streamsan::null {
namespace {

void destroy_primary(Device& device) {
  if (device.primary == nullptr) return;
  clear_context(device.primary);
  state().contexts.destroy(device.primary);
  device.primary = nullptr;
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  SS_CALL(cuDevicePrimaryCtxRetain);
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS) return wrong;
  Device& known = state().devices[device];
  if (known.primary == nullptr) {
    known.primary = make_context(device, known.primary_flags);
    known.primary->primary = true;
  }
  ++known.primary_references;
  *context = known.primary;
  return CUDA_SUCCESS;
}

SS_EXPORT cuDevicePrimaryCtxRelease(CUdevice device) {
  SS_CALL(cuDevicePrimaryCtxRelease);
  const Lock lock = lock_state();
  if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS) return wrong;
  Device& known = state().devices[device];
  if (known.primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--known.primary_references == 0) destroy_primary(known);
  return CUDA_SUCCESS;
}

SS_EXPORT cuDevicePrimaryCtxReset(CUdevice device) {
  SS_CALL(cuDevicePrimaryCtxReset);
  const Lock lock = lock_state();
  if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS) return wrong;
  destroy_primary(state().devices[device]);
  state().devices[device].primary_references = 0;
  return CUDA_SUCCESS;
}

SS_EXPORT cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  SS_CALL(cuDevicePrimaryCtxSetFlags);
  const Lock lock = lock_state();
  if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS) return wrong;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  Device& known = state().devices[device];
  known.primary_flags = flags;
  if (known.primary != nullptr) known.primary->flags = flags;
  return CUDA_SUCCESS;
}

SS_EXPORT cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  SS_CALL(cuDevicePrimaryCtxGetState);
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS) return wrong;
  *flags = state().devices[device].primary_flags;
  *active = state().devices[device].primary != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

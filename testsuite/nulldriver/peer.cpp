// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peer access: every device can reach every other one, and a device is no peer of itself. What a program enables is
// kept only to refuse what the driver refuses, a second time or a missing one: all memory is host memory, and copies
// between devices need no permission in the driver either.

#include "testsuite/nulldriver/objects.h"

using namespace streamsan::null;

SS_EXPORT cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  SS_CALL(cuDeviceCanAccessPeer);
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS) return wrong;
  if (const CUresult wrong = check_device(peer); wrong != CUDA_SUCCESS) return wrong;
  *can = device != peer ? 1 : 0;
  return CUDA_SUCCESS;
}

SS_EXPORT cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute which, CUdevice source, CUdevice destination) {
  SS_CALL(cuDeviceGetP2PAttribute);
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (const CUresult wrong = check_device(source); wrong != CUDA_SUCCESS) return wrong;
  if (const CUresult wrong = check_device(destination); wrong != CUDA_SUCCESS) return wrong;
  if (source == destination) return CUDA_ERROR_INVALID_DEVICE;
  switch (which) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      *value = 1;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

SS_EXPORT cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  SS_CALL(cuCtxEnablePeerAccess);
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  if (!state().contexts.alive(peer) || peer == context) return CUDA_ERROR_INVALID_CONTEXT;
  if (peer->device == context->device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return context->peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

SS_EXPORT cuCtxDisablePeerAccess(CUcontext peer) {
  SS_CALL(cuCtxDisablePeerAccess);
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  if (!state().contexts.alive(peer)) return CUDA_ERROR_INVALID_CONTEXT;
  return context->peers.erase(peer) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

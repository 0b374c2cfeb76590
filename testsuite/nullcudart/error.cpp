// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors: the last one of the thread, names, texts. The runtime's numbers are the driver's where both know an error, so
// the driver has the text of those.

#include "testsuite/nullcudart/runtime.h"

using streamsan::nullcudart::entries;
using streamsan::nullcudart::last_error;
using streamsan::nullcudart::load_driver;

NC_EXPORT cudaGetLastError() { return last_error(true); }
NC_EXPORT cudaPeekAtLastError() { return last_error(false); }

NC_EXPORT_AS(const char*) cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define NC_NAME(name) \
  case name:          \
    return #name;
    NC_NAME(cudaSuccess)
    NC_NAME(cudaErrorInvalidValue)
    NC_NAME(cudaErrorMemoryAllocation)
    NC_NAME(cudaErrorInitializationError)
    NC_NAME(cudaErrorInvalidConfiguration)
    NC_NAME(cudaErrorInvalidPitchValue)
    NC_NAME(cudaErrorInvalidSymbol)
    NC_NAME(cudaErrorInvalidMemcpyDirection)
    NC_NAME(cudaErrorInsufficientDriver)
    NC_NAME(cudaErrorMissingConfiguration)
    NC_NAME(cudaErrorInvalidDeviceFunction)
    NC_NAME(cudaErrorNoDevice)
    NC_NAME(cudaErrorInvalidDevice)
    NC_NAME(cudaErrorInvalidKernelImage)
    NC_NAME(cudaErrorDeviceUninitialized)
    NC_NAME(cudaErrorHostMemoryAlreadyRegistered)
    NC_NAME(cudaErrorHostMemoryNotRegistered)
    NC_NAME(cudaErrorPeerAccessUnsupported)
    NC_NAME(cudaErrorPeerAccessAlreadyEnabled)
    NC_NAME(cudaErrorPeerAccessNotEnabled)
    NC_NAME(cudaErrorUnsupportedLimit)
    NC_NAME(cudaErrorFileNotFound)
    NC_NAME(cudaErrorInvalidResourceHandle)
    NC_NAME(cudaErrorIllegalState)
    NC_NAME(cudaErrorSymbolNotFound)
    NC_NAME(cudaErrorNotReady)
    NC_NAME(cudaErrorIllegalAddress)
    NC_NAME(cudaErrorLaunchOutOfResources)
    NC_NAME(cudaErrorLaunchTimeout)
    NC_NAME(cudaErrorContextIsDestroyed)
    NC_NAME(cudaErrorLaunchFailure)
    NC_NAME(cudaErrorNotPermitted)
    NC_NAME(cudaErrorNotSupported)
    NC_NAME(cudaErrorStreamCaptureUnsupported)
    NC_NAME(cudaErrorStreamCaptureInvalidated)
    NC_NAME(cudaErrorStreamCaptureMerge)
    NC_NAME(cudaErrorStreamCaptureUnmatched)
    NC_NAME(cudaErrorStreamCaptureUnjoined)
    NC_NAME(cudaErrorStreamCaptureIsolation)
    NC_NAME(cudaErrorStreamCaptureImplicit)
    NC_NAME(cudaErrorCapturedEvent)
    NC_NAME(cudaErrorStreamCaptureWrongThread)
    NC_NAME(cudaErrorUnknown)
#undef NC_NAME
    default:
      return "unrecognized error code";
  }
}

NC_EXPORT_AS(const char*) cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorInvalidDeviceFunction:
      return "invalid device function";
    case cudaErrorInvalidSymbol:
      return "invalid device symbol";
    case cudaErrorInvalidMemcpyDirection:
      return "invalid copy direction for memcpy";
    case cudaErrorMissingConfiguration:
      return "__global__ function call is not configured";
    default:
      break;
  }
  const char* text = nullptr;
  if (load_driver() == cudaSuccess) entries().cuGetErrorString(static_cast<CUresult>(error), &text);
  return text != nullptr ? text : "unrecognized error code";
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and texts of the results that the null driver can give, and of those a test may ask it to inject.

#include "testsuite/nulldriver/call.h"

#include <utility>

namespace {

struct Text {
  CUresult code;
  const char* name;
  const char* text;
};

#define SS_RESULT(code, text) \
  Text { code, #code, text }
constexpr Text kTexts[] = {
    SS_RESULT(CUDA_SUCCESS, "no error"),
    SS_RESULT(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    SS_RESULT(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    SS_RESULT(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    SS_RESULT(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    SS_RESULT(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    SS_RESULT(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    SS_RESULT(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    SS_RESULT(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    SS_RESULT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped"),
    SS_RESULT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
    SS_RESULT(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    SS_RESULT(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    SS_RESULT(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    SS_RESULT(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    SS_RESULT(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    SS_RESULT(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    SS_RESULT(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    SS_RESULT(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    SS_RESULT(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    SS_RESULT(CUDA_ERROR_NOT_READY, "device not ready"),
    SS_RESULT(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    SS_RESULT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    SS_RESULT(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    SS_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    SS_RESULT(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    SS_RESULT(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    SS_RESULT(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    SS_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    SS_RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    SS_RESULT(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences"),
    SS_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not initiated in this stream"),
    SS_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    SS_RESULT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream"),
    SS_RESULT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
              "operation would make the legacy stream depend on a capturing blocking stream"),
    SS_RESULT(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream"),
    SS_RESULT(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
              "attempt to terminate a thread-local capture sequence from another thread"),
    SS_RESULT(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef SS_RESULT

const Text* find(CUresult code) {
  for (const Text& text : kTexts) {
    if (text.code == code) return &text;
  }
  return nullptr;
}

}  // namespace

SS_EXPORT cuGetErrorName(CUresult code, const char** name) {
  SS_CALL(cuGetErrorName);
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Text* found = find(code);
  *name = found != nullptr ? found->name : nullptr;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SS_EXPORT cuGetErrorString(CUresult code, const char** text) {
  SS_CALL(cuGetErrorString);
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Text* found = find(code);
  *text = found != nullptr ? found->text : nullptr;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

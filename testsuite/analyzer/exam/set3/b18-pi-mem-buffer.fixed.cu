//===- pi_cuda_min.cu - CUDA plugin, buffer and queue part -------------------===//
#include <cuda.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

enum pi_result { PI_SUCCESS = 0, PI_INVALID_VALUE = -30, PI_OUT_OF_RESOURCES = -5 };
enum pi_mem_flags : uint32_t { PI_MEM_FLAGS_ACCESS_RW = 1u << 0, PI_MEM_FLAGS_HOST_PTR_COPY = 1u << 5 };

pi_result map_error(CUresult result) {
  switch (result) {
  case CUDA_SUCCESS:
    return PI_SUCCESS;
  case CUDA_ERROR_INVALID_VALUE:
    return PI_INVALID_VALUE;
  default:
    return PI_OUT_OF_RESOURCES;
  }
}

pi_result check_error(CUresult result, const char *function, int line) {
  if (result == CUDA_SUCCESS)
    return PI_SUCCESS;
  const char *name = nullptr;
  cuGetErrorName(result, &name);
  fprintf(stderr, "PI CUDA ERROR: %s in %s:%d\n", name ? name : "?", function, line);
  throw map_error(result);
}
#define PI_CHECK_ERROR(result) check_error(result, __func__, __LINE__)

struct _pi_context {
  CUdevice dev_{};
  CUcontext ctx_{};
  _pi_context() {
    PI_CHECK_ERROR(cuDeviceGet(&dev_, 0));
    PI_CHECK_ERROR(cuDevicePrimaryCtxRetain(&ctx_, dev_));
    PI_CHECK_ERROR(cuCtxSetCurrent(ctx_));
  }
  ~_pi_context() { cuDevicePrimaryCtxRelease(dev_); }
};

struct _pi_mem {
  CUdeviceptr ptr_;
  size_t size_;
};

struct _pi_queue {
  CUstream stream_{};
  explicit _pi_queue(unsigned flags) { PI_CHECK_ERROR(cuStreamCreate(&stream_, flags)); }
  ~_pi_queue() { cuStreamDestroy(stream_); }
};

using pi_mem = _pi_mem *;
using pi_queue = _pi_queue *;

/// Creates a buffer; with PI_MEM_FLAGS_HOST_PTR_COPY it starts as a copy of host_ptr.
pi_result cuda_piMemBufferCreate(pi_mem_flags flags, size_t size, const void *host_ptr, pi_mem *ret_mem) {
  assert(ret_mem != nullptr);
  pi_result retErr = PI_SUCCESS;
  try {
    CUdeviceptr ptr{};
    retErr = PI_CHECK_ERROR(cuMemAlloc(&ptr, size));
    const bool performInitialCopy = (flags & PI_MEM_FLAGS_HOST_PTR_COPY) && host_ptr;
    std::unique_ptr<_pi_mem> mem(new _pi_mem{ptr, size});
    if (performInitialCopy) {
      // The host data may be released as soon as this returns
      retErr = PI_CHECK_ERROR(cuMemcpyHtoD(ptr, host_ptr, size));
      retErr = PI_CHECK_ERROR(cuStreamSynchronize(nullptr));
    }
    *ret_mem = mem.release();
  } catch (pi_result err) {
    retErr = err;
  }
  return retErr;
}

pi_result cuda_piMemRelease(pi_mem mem) {
  std::unique_ptr<_pi_mem> owner(mem);
  return map_error(cuMemFree(mem->ptr_));
}

pi_result cuda_piEnqueueMemBufferCopy(pi_queue queue, pi_mem src, pi_mem dst, size_t size) {
  try {
    return PI_CHECK_ERROR(cuMemcpyDtoDAsync(dst->ptr_, src->ptr_, size, queue->stream_));
  } catch (pi_result err) {
    return err;
  }
}

pi_result cuda_piEnqueueMemBufferRead(pi_queue queue, pi_mem src, void *host, size_t size) {
  try {
    PI_CHECK_ERROR(cuMemcpyDtoHAsync(host, src->ptr_, size, queue->stream_));
    return PI_CHECK_ERROR(cuStreamSynchronize(queue->stream_));
  } catch (pi_result err) {
    return err;
  }
}

} // namespace

int main() {
  if (cuInit(0) != CUDA_SUCCESS)
    return 1;
  _pi_context context;
  const size_t n = 1 << 22;
  std::vector<uint32_t> input(n, 42u), output(n);
  {
    _pi_queue queue(CU_STREAM_NON_BLOCKING);
    pi_mem a = nullptr, b = nullptr;
    if (cuda_piMemBufferCreate(PI_MEM_FLAGS_HOST_PTR_COPY, n * 4, input.data(), &a) != PI_SUCCESS ||
        cuda_piMemBufferCreate(PI_MEM_FLAGS_ACCESS_RW, n * 4, nullptr, &b) != PI_SUCCESS)
      return 1;
    if (cuda_piEnqueueMemBufferCopy(&queue, a, b, n * 4) != PI_SUCCESS ||
        cuda_piEnqueueMemBufferRead(&queue, b, output.data(), n * 4) != PI_SUCCESS)
      return 1;
    cuda_piMemRelease(a);
    cuda_piMemRelease(b);
  }
  printf("%u\n", output[n - 1]);
  return 0;
}

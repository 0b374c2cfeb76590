// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Start-up, the device and context of each thread, and errors: see runtime.h.

#include "testsuite/nullcudart/runtime.h"

#include <dlfcn.h>

#include <atomic>
#include <iterator>
#include <mutex>

namespace streamsan::nullcudart {

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

struct Driver {
  void* library = nullptr;
  GetProcAddress get = nullptr;
  cudaError_t error = cudaErrorInsufficientDriver;
};

Driver open_driver() {
  Driver driver;
  driver.library = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver.library == nullptr) return driver;
  driver.get = reinterpret_cast<GetProcAddress>(dlsym(driver.library, "cuGetProcAddress_v2"));
  if (driver.get != nullptr) driver.error = cudaSuccess;
  return driver;
}

const Driver& driver() {
  static const Driver instance = open_driver();
  return instance;
}

std::atomic<unsigned> context_generation{1};
std::atomic<bool> used_another{false};
std::mutex primary_mutex;
/// By device; more than any machine has.
CUcontext primaries[64];

thread_local unsigned thread_generation = 0;
thread_local int thread_device = 0;
thread_local cudaError_t thread_error = cudaSuccess;

/// Each is retained once.
CUresult primary_context(int device, CUcontext* context) {
  if (device < 0 || device >= static_cast<int>(std::size(primaries))) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard<std::mutex> lock(primary_mutex);
  CUcontext& primary = primaries[device];
  if (primary == nullptr) {
    const CUresult failed = entries().cuDevicePrimaryCtxRetain(&primary, device);
    if (failed != CUDA_SUCCESS) return failed;
    if (device != 0) used_another = true;
  }
  *context = primary;
  return CUDA_SUCCESS;
}

CUresult use_primary_context(int device) {
  CUcontext primary = nullptr;
  if (const CUresult failed = primary_context(device, &primary); failed != CUDA_SUCCESS) return failed;
  return entries().cuCtxSetCurrent(primary);
}

}  // namespace

CUresult get_proc_address(const char* name, void** address, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  return driver().get(name, address, version, flags, status);
}

void* driver_symbol(const char* name) { return dlsym(driver().library, name); }

cudaError_t load_driver() {
  if (driver().error != cudaSuccess) return driver().error;
  static const CUresult initialised = entries().cuInit(0);
  return static_cast<cudaError_t>(initialised);
}

cudaError_t prepare() {
  if (const cudaError_t unready = load_driver(); unready != cudaSuccess) return unready;
  const unsigned generation = context_generation.load();
  if (thread_generation == generation) return cudaSuccess;
  CUcontext current = nullptr;
  CUresult result = entries().cuCtxGetCurrent(&current);
  if (result == CUDA_SUCCESS && current == nullptr) result = use_primary_context(thread_device);
  if (result == CUDA_SUCCESS) thread_generation = generation;
  return static_cast<cudaError_t>(result);
}

int current_device() { return thread_device; }

bool several_devices() { return used_another.load(); }

cudaError_t use_device(int device) {
  // A program of one device keeps a context that it has made current itself.
  if (device == thread_device && !several_devices()) return prepare();
  if (const cudaError_t unready = load_driver(); unready != cudaSuccess) return unready;
  const unsigned generation = context_generation.load();
  const CUresult result = use_primary_context(device);
  if (result == CUDA_SUCCESS) {
    thread_device = device;
    thread_generation = generation;
  }
  return static_cast<cudaError_t>(result);
}

cudaError_t contexts_of(int first, int second, CUcontext* of_first, CUcontext* of_second) {
  if (const cudaError_t unready = prepare(); unready != cudaSuccess) return unready;
  const auto context_of = [](int device, CUcontext* context) {
    return device == thread_device ? entries().cuCtxGetCurrent(context) : primary_context(device, context);
  };
  CUresult result = context_of(first, of_first);
  *of_second = *of_first;
  if (result == CUDA_SUCCESS && second != first) result = context_of(second, of_second);
  return static_cast<cudaError_t>(result);
}

void forget_context() {
  {
    const std::lock_guard<std::mutex> lock(primary_mutex);
    primaries[thread_device] = nullptr;
  }
  ++context_generation;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) thread_error = error;
  return error;
}

cudaError_t last_error(bool clear) {
  const cudaError_t error = thread_error;
  if (clear) thread_error = cudaSuccess;
  return error;
}

}  // namespace streamsan::nullcudart

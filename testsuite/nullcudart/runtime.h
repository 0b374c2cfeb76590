// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA runtime made of public driver functions only, so that programs compiled by nvcc run over the null driver and
// under the recorder. It starts the way the real one does, because that path is what the recorder has to catch:
// dlopen("libcuda.so.1"), dlsym("cuGetProcAddress_v2"), everything else through that function, with the per-thread flag
// for programs built so; kernels through cuLibraryLoadData and cuLibraryGetKernel.
//
// The files under by_stream/ are compiled twice, plain and with CUDA_API_PER_THREAD_DEFAULT_STREAM, which makes the
// headers name the _ptds/_ptsz functions; so are the Entries, whose members those macros rename: they live in a
// namespace for each flavour.
//
// What it is not: complete. A program that needs a function that is missing does not link.
//
// Rules for a function: no lock is held during a driver call, every result passes through remember(), and a driver
// function is called from the exported function itself, so that a call stack has one frame for the runtime call.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>

#ifdef NULLCUDART_SHARED
#define NC_VISIBILITY "default"
#else
#define NC_VISIBILITY "hidden"
#endif
#define NC_EXPORT_AS(type) extern "C" __attribute__((visibility(NC_VISIBILITY))) type CUDARTAPI
#define NC_EXPORT NC_EXPORT_AS(cudaError_t)

/// Ends a runtime function with the result of a driver call, as in NC_RETURN(cuMemFree(pointer)).
#define NC_RETURN(call)                                                                                          \
  do {                                                                                                           \
    if (const cudaError_t unready = ::streamsan::nullcudart::prepare(); unready != cudaSuccess) {                \
      return ::streamsan::nullcudart::remember(unready);                                                         \
    }                                                                                                            \
    return ::streamsan::nullcudart::remember(static_cast<cudaError_t>(::streamsan::nullcudart::entries().call)); \
  } while (false)

/// As NC_RETURN, without a context.
#define NC_RETURN_EARLY(call)                                                                                    \
  do {                                                                                                           \
    if (const cudaError_t unready = ::streamsan::nullcudart::load_driver(); unready != cudaSuccess) {            \
      return ::streamsan::nullcudart::remember(unready);                                                         \
    }                                                                                                            \
    return ::streamsan::nullcudart::remember(static_cast<cudaError_t>(::streamsan::nullcudart::entries().call)); \
  } while (false)

namespace streamsan::nullcudart {

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
inline namespace per_thread {
#else
inline namespace legacy {
#endif
struct Entries {
#define NC_ENTRY(name) decltype(&::name) name;
#define NC_ENTRY_AT(name, version) NC_ENTRY(name)
#include "testsuite/nullcudart/entries.def"
#undef NC_ENTRY_AT
#undef NC_ENTRY
};
/// Valid after load_driver() succeeded.
const Entries& entries();
}  // namespace legacy / per_thread

/// Opens the driver, asks for the entry points and calls cuInit, once. cudaErrorInsufficientDriver if there is none.
cudaError_t load_driver();
/// Also gives the calling thread a context: its own if it has one, else the primary context of its device.
cudaError_t prepare();
/// The device of the calling thread: 0, or the one it last gave to use_device(). A context that the program makes
/// current itself does not change it.
int current_device();
/// Makes the primary context of the device current.
cudaError_t use_device(int device);
/// The contexts for a copy between two devices: of the current device the current context, of another its primary one.
cudaError_t contexts_of(int first, int second, CUcontext* of_first, CUcontext* of_second);
/// Has any thread used another device than 0?
bool several_devices();
/// The primary context of the current device is gone: every thread takes the new one at its next call.
void forget_context();
/// nullptr if the driver does not have it.
void* driver_symbol(const char* name);
CUresult get_proc_address(const char* name, void** address, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status);

/// Keeps the error for cudaGetLastError, and returns it.
cudaError_t remember(cudaError_t error);
cudaError_t last_error(bool clear);

// ---- registration.cpp
// --------------------------------------------------------------------------------------------------

/// The kernel a host function stands for; loads its library.
cudaError_t kernel_of(const void* host_function, CUkernel* kernel);
/// The device address of a `__device__` variable.
cudaError_t symbol_of(const void* host_variable, CUdeviceptr* address, std::size_t* bytes);

}  // namespace streamsan::nullcudart

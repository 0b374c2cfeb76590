// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A function launches for others and is given their array of pointers to the arguments; an array is set one by one.
#include <cuda.h>

class Kernels {
 public:
  void launch(CUfunction kernel, unsigned blocks, CUstream stream, void** arguments) const {
    cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
  }
  CUfunction smooth;
};

void through_a_function(const Kernels& kernels, CUdeviceptr field, CUdeviceptr copy, unsigned n) {
  CUstream compute, transfer;
  CUevent smoothed;
  cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&transfer, CU_STREAM_NON_BLOCKING);
  cuEventCreate(&smoothed, CU_EVENT_DISABLE_TIMING);
  void* arguments[] = {&field, &n};
  kernels.launch(kernels.smooth, n / 256, compute, arguments);
#ifdef FIXED
  cuEventRecord(smoothed, compute);
  cuStreamWaitEvent(transfer, smoothed, 0);
#endif
  cuMemcpyDtoDAsync(field, copy, n, transfer);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cuMemcpyDtoDAsync (device to device) on stream 'transfer' may write 'field' while cuLaunchKernel on stream 'compute' still uses it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-19]]:5: note: 'field' is used here, on stream 'compute'
// CHECK-NOTES: :[[@LINE-8]]:3: note: in the call to 'Kernels::launch' here
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'transfer' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'transfer' after stream 'compute': record an event in stream 'compute' after the use and let stream 'transfer' wait for it with cuStreamWaitEvent before cuMemcpyDtoDAsync (device to device)
// CHECK-NOTES: :[[@LINE-24]]:5: note: the code of this kernel is not in sight: that it uses 'field', which it is given, is presumed
  cuStreamSynchronize(compute);
  cuStreamSynchronize(transfer);
}

void one_by_one(CUfunction kernel, CUdeviceptr field, CUdeviceptr copy, unsigned n) {
  CUstream compute, transfer;
  cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&transfer, CU_STREAM_NON_BLOCKING);
  void* arguments[2];
  arguments[0] = &field;
  arguments[1] = &n;
  cuLaunchKernel(kernel, n / 256, 1, 1, 256, 1, 1, 0, compute, arguments, nullptr);
#ifdef FIXED
  cuStreamSynchronize(compute);
#endif
  cuMemcpyDtoDAsync(field, copy, n, transfer);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cuMemcpyDtoDAsync (device to device) on stream 'transfer' may write 'field' while cuLaunchKernel on stream 'compute' still uses it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'field' is used here, on stream 'compute'
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'transfer' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'transfer' after stream 'compute': record an event in stream 'compute' after the use and let stream 'transfer' wait for it with cuStreamWaitEvent before cuMemcpyDtoDAsync (device to device)
// CHECK-NOTES: :[[@LINE-10]]:3: note: the code of this kernel is not in sight: that it uses 'field', which it is given, is presumed
  cuStreamSynchronize(compute);
  cuStreamSynchronize(transfer);
}

// Another buffer; and a number that both are given is no memory.
void apart(const Kernels& kernels, CUdeviceptr one, CUdeviceptr other, unsigned n) {
  CUstream first, second;
  cuStreamCreate(&first, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
  void* arguments[] = {&one, &n};
  void* more[] = {&other, &n};
  kernels.launch(kernels.smooth, n / 256, first, arguments);
  kernels.launch(kernels.smooth, n / 256, second, more);
  cuStreamSynchronize(first);
  cuStreamSynchronize(second);
}

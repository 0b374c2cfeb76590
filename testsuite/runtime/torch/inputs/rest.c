// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the run-time library that PyTorch is linked with and the suite's libcudart lacks. Calls fail.
#define SS_REST(name) \
  int name(void) { return 801; /* cudaErrorNotSupported */ }
SS_REST(cudaDeviceGetGraphMemAttribute)
SS_REST(cudaDeviceSetGraphMemAttribute)
SS_REST(cudaFuncSetAttribute)
SS_REST(cudaGraphAddNode)
SS_REST(cudaGraphConditionalHandleCreate)
SS_REST(cudaGraphNodeGetDependencies)
SS_REST(cudaGraphRetainUserObject)
SS_REST(cudaIpcCloseMemHandle)
SS_REST(cudaIpcGetEventHandle)
SS_REST(cudaIpcGetMemHandle)
SS_REST(cudaIpcOpenEventHandle)
SS_REST(cudaIpcOpenMemHandle)
SS_REST(cudaKernelSetAttributeForDevice)
SS_REST(cudaLibraryGetGlobal)
SS_REST(cudaLibraryGetKernel)
SS_REST(cudaLibraryGetKernelCount)
SS_REST(cudaLibraryGetManaged)
SS_REST(cudaLibraryGetUnifiedFunction)
SS_REST(cudaLibraryLoadData)
SS_REST(cudaLibraryLoadFromFile)
SS_REST(cudaLibraryUnload)
SS_REST(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
SS_REST(cudaProfilerStart)
SS_REST(cudaProfilerStop)
SS_REST(cudaUserObjectCreate)
SS_REST(cudaUserObjectRelease)
SS_REST(cudaGraphDebugDotPrint)

// Of the run-time library of CUDA 12, for older wheels: an H100, as CUDA 12.1 describes it. Nothing is ever captured
// here.
int cudaGetDeviceProperties_v2(char* properties, int device) {
  (void)device;
  for (int i = 0; i < 1032; ++i) properties[i] = i < 4 ? "null"[i] : 0;
  *(unsigned long*)(properties + 288) = 64ul << 30;  // totalGlobalMem
  *(unsigned long*)(properties + 296) = 48ul << 10;  // sharedMemPerBlock
  *(int*)(properties + 304) = 65536;                 // regsPerBlock
  *(int*)(properties + 308) = 32;                    // warpSize
  *(int*)(properties + 320) = 1024;                  // maxThreadsPerBlock
  *(int*)(properties + 360) = 9;                     // major
  *(int*)(properties + 388) = 132;                   // multiProcessorCount
  return 0;
}

int cudaStreamGetCaptureInfo_v2(void* stream, int* status) {
  (void)stream;
  *status = 0;
  return 0;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much of NVIDIA's management library as PyTorch's allocator needs for expandable segments, where there is none: it
// finds the device, and the device can do nothing special.
#define SS_NVML(name, result) \
  int name(void) { return result; }
SS_NVML(nvmlInit_v2, 0)
SS_NVML(nvmlDeviceGetHandleByPciBusId_v2, 0)
SS_NVML(nvmlDeviceGetComputeRunningProcesses, 3)  // not supported
SS_NVML(nvmlDeviceGetGpuFabricInfoV, 3)
SS_NVML(nvmlDeviceGetNvLinkRemoteDeviceType, 3)
SS_NVML(nvmlDeviceGetNvLinkRemotePciInfo_v2, 3)
SS_NVML(nvmlSystemGetCudaDriverVersion_v2, 3)

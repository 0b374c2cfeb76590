// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which machine the programs run on.
#include <cuda_runtime.h>
#include <fstream>
#include <string>

#include "testsuite/gpu/random/execute.h"
#include "testsuite/gpu/random/graphs.cuh"

namespace streamsan::lab {

unsigned Hardware::devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return 0;
  return static_cast<unsigned>(count);
}

std::string Hardware::gpu() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "properties");
  return properties.name;
}

std::string Hardware::driver() {
  std::ifstream version("/proc/driver/nvidia/version");
  for (std::string word; version >> word;) {
    if (word.size() > 4 && word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  }
  int number = 0;
  cudaDriverGetVersion(&number);
  return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string Hardware::toolkit() {
  return std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

}  // namespace streamsan::lab

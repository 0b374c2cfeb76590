// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel paints an image through a surface object, and a kernel in another stream reads the image through a texture
// object before it is known to be painted. Objects are small numbers: which arrays the kernels touch is in their code.
// With -DFREED the image is freed instead, which today's driver waits for (R-ALC-05).
#include "stage.h"

constexpr int kWidth = 1024, kHeight = 512;

__global__ void paint(cudaSurfaceObject_t image, float value) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  surf2Dwrite(value, image, x * static_cast<int>(sizeof(float)), static_cast<int>(blockIdx.y));
}

__global__ void sample(cudaTextureObject_t image, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  out[blockIdx.y * kWidth + x] = tex2D<float>(image, static_cast<float>(x) + 0.5f, static_cast<float>(blockIdx.y) + 0.5f);
}

int main() {
  const cudaChannelFormatDesc element = cudaCreateChannelDesc<float>();
  cudaArray_t image;
  CHECK(cudaMallocArray(&image, &element, kWidth, kHeight, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = image;
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.filterMode = cudaFilterModePoint;
  how.readMode = cudaReadModeElementType;
  cudaSurfaceObject_t surface;
  cudaTextureObject_t texture;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  float* out = device_floats(kWidth * kHeight);
  float* host = pinned_floats(kWidth * kHeight);
  cudaStream_t painting = non_blocking_stream();
  cudaStream_t reading = non_blocking_stream();
  const dim3 grid(kWidth / 256, kHeight);
  paint<<<grid, 256, 0, painting>>>(surface, 3.0f);  // site: paint
  CHECK(cudaGetLastError());
#ifdef FREED
#ifdef FIXED
  CHECK(cudaStreamSynchronize(painting));
#endif
  CHECK(cudaFreeArray(image));  // site: free
#else
#ifdef FIXED
  order(painting, reading);
#endif
  sample<<<grid, 256, 0, reading>>>(texture, out);  // site: sample
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(host, out, kWidth * kHeight * sizeof(float), cudaMemcpyDeviceToHost, reading));
  CHECK(cudaStreamSynchronize(reading));
  expect_all(host, kWidth * kHeight, 3.0f);
#endif
  return 0;
}

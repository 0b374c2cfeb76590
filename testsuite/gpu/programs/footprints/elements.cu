// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain loads and stores in the shapes in which programs make them, one for each name on the command line. Sizes are
// odd on purpose: the last warp is partial, and edges lie inside the words and sectors in which hardware works.
#include <cstring>

#include "../kernels.cuh"
#include "../stage.h"
#include "truth.h"

namespace {

__device__ int table[5000];

template <class T>
__global__ void add(const T* left, const T* right, T* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = left[i] + right[i];
}

template <class T>
__global__ void gather(const T* in, const int* index, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

__global__ void block_of_columns(const float* in, float* out, int pitch, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < columns) out[blockIdx.y * pitch + column] = in[blockIdx.y * pitch + column] * 2.0f;
}

__global__ void store_halves(unsigned short* out, int begin, int end) {
  int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < end) out[i] = static_cast<unsigned short>(i);
}

__global__ void wide(const float4* in, double2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 value = in[i];
  out[i] = make_double2(value.x + value.y, value.z + value.w);
}

__global__ void from_table(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[i + 7];
}

__global__ void into_table(int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) table[2 * i] = i;
}

/// Reads through pointers of which the hardware finds out the memory: only what is global belongs to a footprint.
__device__ __noinline__ int through(const int* pointer, int i) { return pointer[i]; }

__global__ void three_memories(const int* in, int* out, int n) {
  __shared__ int shared[256];
  int local[16];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  shared[threadIdx.x] = i;
  for (int k = 0; k < 16; ++k) local[k] = k * i;
  __syncthreads();
  if (i >= n) return;
  const int* choice = i % 3 == 0 ? in : i % 3 == 1 ? shared : local;
  out[i] = through(choice, i % 3 == 0 ? i : i % 16);
}

/// An early exit, and one lane of each warp that loops and stores: predicates of every kind.
__global__ void diverging(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (threadIdx.x % 32 != 3) return;
  int sum = 0;
  for (int k = 0; k < i % 5; ++k) sum += in[5 * i + k];
  out[i] = sum;
}

template <class T>
T* device(size_t count) {
  T* pointer;
  CHECK(cudaMalloc(&pointer, count * sizeof(T)));
  CHECK(cudaMemset(pointer, 0, count * sizeof(T)));
  return pointer;
}

void launched() {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

void half() {
  constexpr int kHalf = 50003;
  float *a = device<float>(2 * kHalf), *b = device<float>(2 * kHalf), *c = device<float>(2 * kHalf);
  add<<<blocks_for(kHalf), 256>>>(a, b, c + 11, kHalf);
  launched();
  truth("add", "read", {{a, kHalf * 4}, {b, kHalf * 4}});
  truth("add", "write", {{c + 11, kHalf * 4}});
}

void column_block() {
  constexpr int kRows = 129, kPitch = 1000, kColumns = 77;
  float *in = device<float>(kRows * kPitch), *out = device<float>(kRows * kPitch);
  block_of_columns<<<dim3(1, kRows), 128>>>(in + 333, out + 334, kPitch, kColumns);
  launched();
  truth("block_of_columns", "read", {{in + 333, kColumns * 4, kRows, kPitch * 4}});
  truth("block_of_columns", "write", {{out + 334, kColumns * 4, kRows, kPitch * 4}});
}

/// `honest`: more pieces than a footprint need hold.
template <class T>
void gathered(int count, bool honest) {
  constexpr int kRange = 1 << 20;
  T *in = device<T>(kRange), *out = device<T>(count);
  int* index = device<int>(count);
  std::vector<int> chosen(count);
  std::uint32_t state = 12345;
  std::vector<Piece> elements;
  for (int& element : chosen) {
    state = state * 1664525u + 1013904223u;
    element = static_cast<int>(state >> 12);  // below kRange
    elements.push_back({in + element, sizeof(T)});
  }
  elements.push_back({index, count * sizeof(int)});
  CHECK(cudaMemcpy(index, chosen.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  gather<<<blocks_for(count), 256>>>(in, index, out, count);
  launched();
  (honest ? honest_truth : truth)("gather", "read", elements);
  (honest ? honest_truth : truth)("gather", "write", {{out, count * sizeof(T)}});
}

void odd_ends() {
  unsigned short* out = device<unsigned short>(5000);
  store_halves<<<blocks_for(3000), 256>>>(out, 1001, 3334);
  launched();
  truth("store_halves", "write", {{out + 1001, (3334 - 1001) * 2}});
}

void bytes() {
  constexpr int kCount = 1237;
  char *a = device<char>(2 * kCount), *b = device<char>(2 * kCount), *c = device<char>(2 * kCount);
  add<<<blocks_for(kCount), 256>>>(a + 1, b + 2, c + 3, kCount);
  launched();
  truth("add", "read", {{a + 1, kCount}, {b + 2, kCount}});
  truth("add", "write", {{c + 3, kCount}});
}

void vectors() {
  constexpr int kCount = 1003;
  float4* in = device<float4>(2 * kCount);
  double2* out = device<double2>(2 * kCount);
  wide<<<blocks_for(kCount), 256>>>(in + 1, out + 3, kCount);
  launched();
  truth("wide", "read", {{in + 1, kCount * 16}});
  truth("wide", "write", {{out + 3, kCount * 16}});
}

void module_array() {
  int* address;
  CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), table));
  int* out = device<int>(2000);
  from_table<<<blocks_for(1111), 256>>>(out, 1111);
  into_table<<<blocks_for(901), 256>>>(901);
  launched();
  truth("from_table", "read", {{address + 7, 1111 * 4}});
  truth("from_table", "write", {{out, 1111 * 4}});
  truth("into_table", "write", {{address, 4, 901, 8}});
}

void managed() {
  float *in, *out;
  CHECK(cudaMallocManaged(&in, kBytes));
  CHECK(cudaMallocManaged(&out, kBytes));
  for (int i = 0; i < kCount; ++i) in[i] = 1.0f;
  scale<<<blocks_for(70001), 256>>>(in + 3, out + 5, 70001, 2.0f);
  launched();
  truth("scale", "read", {{in + 3, 70001 * 4}});
  truth("scale", "write", {{out + 5, 70001 * 4}});
}

void mapped() {
  float *in, *out, *in_there, *out_there;
  CHECK(cudaHostAlloc(&in, kBytes, cudaHostAllocMapped));
  CHECK(cudaHostAlloc(&out, kBytes, cudaHostAllocMapped));
  std::memset(in, 0, kBytes);
  CHECK(cudaHostGetDevicePointer(&in_there, in, 0));
  CHECK(cudaHostGetDevicePointer(&out_there, out, 0));
  scale<<<blocks_for(10001), 256>>>(in_there + 3, out_there + 5, 10001, 2.0f);
  launched();
  truth("scale", "read", {{in_there + 3, 10001 * 4}});
  truth("scale", "write", {{out_there + 5, 10001 * 4}});
}

void memories() {
  constexpr int kCount = 999;  // a multiple of 3
  int *in = device<int>(kCount), *out = device<int>(kCount);
  three_memories<<<blocks_for(kCount), 256>>>(in, out, kCount);
  launched();
  truth("three_memories", "read", {{in, 4, kCount / 3, 12}});
  truth("three_memories", "write", {{out, kCount * 4}});
}

void predicates() {
  constexpr int kCount = 1000;
  int *in = device<int>(5 * kCount), *out = device<int>(kCount);
  diverging<<<blocks_for(kCount), 256>>>(in, out, kCount);
  launched();
  std::vector<Piece> loaded, stored;
  for (int i = 0; i < kCount; ++i) {
    if (i % 256 % 32 != 3) continue;
    loaded.push_back({in + 5 * i, i % 5 * sizeof(int)});
    stored.push_back({out + i, sizeof(int)});
  }
  truth("diverging", "read", loaded);
  truth("diverging", "write", stored);
}

struct Shape {
  const char* name;
  void (*run)();
};
const Shape kShapes[] = {
    {"half", half},
    {"column-block", column_block},
    {"gather", [] { gathered<int>(100, false); }},
    {"gather-bytes", [] { gathered<char>(101, false); }},
    {"gather-halves", [] { gathered<short>(99, false); }},
    {"gather-many", [] { gathered<int>(20000, true); }},
    {"odd-ends", odd_ends},
    {"bytes", bytes},
    {"vectors", vectors},
    {"module-array", module_array},
    {"managed", managed},
    {"mapped", mapped},
    {"memories", memories},
    {"predicates", predicates},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Shape& shape : kShapes) {
    if (argc == 2 && std::strcmp(argv[1], shape.name) == 0) {
      shape.run();
      return 0;
    }
  }
  std::fprintf(stderr, "usage: %s SHAPE\n", argv[0]);
  return 2;
}

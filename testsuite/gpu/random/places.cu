// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/places.cuh"

#include <stdexcept>
#include <string>

// What nvcc calls under --default-stream per-thread; the library has both.
extern "C" cudaError_t CUDARTAPI cudaMemcpy_ptds(void*, const void*, std::size_t, cudaMemcpyKind);
extern "C" cudaError_t CUDARTAPI cudaMemcpy2D_ptds(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t,
                                                   cudaMemcpyKind);
extern "C" cudaError_t CUDARTAPI cudaMemcpy2DToArray_ptds(cudaArray_t, std::size_t, std::size_t, const void*, std::size_t,
                                                          std::size_t, std::size_t, cudaMemcpyKind);
extern "C" cudaError_t CUDARTAPI cudaMemcpy2DFromArray_ptds(void*, std::size_t, cudaArray_const_t, std::size_t, std::size_t,
                                                            std::size_t, std::size_t, cudaMemcpyKind);
extern "C" cudaError_t CUDARTAPI cudaMemcpy3D_ptds(const cudaMemcpy3DParms*);
extern "C" cudaError_t CUDARTAPI cudaMemset_ptds(void*, int, std::size_t);
extern "C" cudaError_t CUDARTAPI cudaMemset2D_ptds(void*, std::size_t, int, std::size_t, std::size_t);
extern "C" cudaError_t CUDARTAPI cudaMemset3D_ptds(cudaPitchedPtr, int, cudaExtent);

namespace streamsan::lab {
namespace {

constexpr std::size_t kElement = sizeof(unsigned);
constexpr std::size_t kPitch = kCells * kElement;

__global__ void wipe_all(unsigned* slots, cudaSurfaceObject_t plane, cudaSurfaceObject_t volume, unsigned* rounds) {
  for (unsigned i = threadIdx.x; i < kElements; i += blockDim.x) slots[i] = 0;
  for (unsigned i = threadIdx.x; i < kCells; i += blockDim.x) {
    rounds[i] = 0;
    for (unsigned row = 0; row < kRows; ++row) {
      surf2Dwrite(0u, plane, static_cast<int>(i * kElement), static_cast<int>(row));
      for (unsigned slice = 0; slice < kSlices; ++slice)
        surf3Dwrite(0u, volume, static_cast<int>(i * kElement), static_cast<int>(row), static_cast<int>(slice));
    }
  }
}

__global__ void peek_at_all(const volatile unsigned* slots, cudaSurfaceObject_t plane, cudaSurfaceObject_t volume,
                            Shared* shared, unsigned number) {
  for (unsigned i = threadIdx.x; i < kCells; i += blockDim.x) {
    unsigned any = surf2Dread<unsigned>(plane, static_cast<int>(i * kElement), 0);
    any |= surf3Dread<unsigned>(volume, static_cast<int>(i * kElement), 0, 0);
    if ((slots[i] | any) != 0) shared->slots[i] = 1;
  }
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) shared->peeked = number;
}

Arrays make_arrays() {
  const cudaChannelFormatDesc element = cudaCreateChannelDesc<unsigned>();
  Arrays made;
  check(cudaMallocArray(&made.plane, &element, kCells, kRows, cudaArraySurfaceLoadStore), "array");
  check(cudaMalloc3DArray(&made.volume, &element, make_cudaExtent(kCells, kRows, kSlices), cudaArraySurfaceLoadStore), "array");
  return made;
}

cudaSurfaceObject_t surface_of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  check(cudaCreateSurfaceObject(&surface, &resource), "surface");
  return surface;
}

/// One side of a copy: memory, or an array.
struct End {
  unsigned* memory = nullptr;
  cudaArray_t array = nullptr;
};

End end_of(Side side, bool source, const Places& places, Shape shape, std::size_t cell) {
  const Arrays& arrays = source ? places.ones_arrays : places.arrays;
  switch (side) {
    case Side::Device: return {.memory = (source ? places.ones : places.slots) + cell};
    case Side::Pinned: return {.memory = (source ? places.ones_host : places.landing) + cell};
    case Side::Pageable: return {.memory = (source ? places.ones_pageable : places.landing_pageable) + cell};
    case Side::Array: return {.array = shape == Shape::Slices ? arrays.volume : arrays.plane};
  }
  return {};
}

unsigned* filled(const Places& places, const Work& work, std::size_t cell) {
  return work.pinned ? &places.landing[cell] : &places.slots[cell];
}

cudaPitchedPtr pitched(unsigned* memory) { return make_cudaPitchedPtr(memory, kPitch, kCells, kRows); }

struct Copying {
  End to, from;
  cudaMemcpyKind kind;
  std::size_t rows;
  std::size_t column;  ///< in bytes, of an array
  cudaMemcpy3DParms whole;  ///< the same in the words that have words for all copies
};

Copying copying(const Places& places, const Work& work, std::size_t cell) {
  const Sides sides = sides_of(work.route);
  Copying copy{.to = end_of(sides.to, false, places, work.shape, cell),
               .from = end_of(sides.from, true, places, work.shape, cell),
               .kind = !is_on_device(sides.to)     ? cudaMemcpyDeviceToHost
                       : !is_on_device(sides.from) ? cudaMemcpyHostToDevice
                                                   : cudaMemcpyDeviceToDevice,
               .rows = rows_of(work.shape),
               .column = cell * kElement,
               .whole = {}};
  cudaMemcpy3DParms& whole = copy.whole;
  whole.kind = copy.kind;
  // Where an array is on either side, the width is in elements.
  const bool of_array = copy.to.array || copy.from.array;
  whole.extent = make_cudaExtent(of_array ? 1 : kElement, copy.rows, slices_of(work.shape));
  if (copy.to.array) {
    whole.dstArray = copy.to.array;
    whole.dstPos = make_cudaPos(cell, 0, 0);
  } else {
    whole.dstPtr = pitched(copy.to.memory);
  }
  if (copy.from.array) {
    whole.srcArray = copy.from.array;
    whole.srcPos = make_cudaPos(cell, 0, 0);
  } else {
    whole.srcPtr = pitched(copy.from.memory);
  }
  return copy;
}

/// A function of the library in the form that is wanted.
template <typename Later, typename Now, typename OwnNow, typename... Arguments>
cudaError_t call(Form form, cudaStream_t stream, Later later, Now now, OwnNow own_now, Arguments... arguments) {
  if (form == Form::Asynchronous) return later(arguments..., stream);
  return form == Form::Synchronous ? now(arguments...) : own_now(arguments...);
}

}  // namespace

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(result));
}

void make_places(Places& places) {
  check(cudaMalloc(&places.slots, kElements * kElement), "memory");
  check(cudaMalloc(&places.ones, kElements * kElement), "memory");
  check(cudaMalloc(&places.rounds, kCells * kElement), "memory");
  check(cudaMemcpy(places.ones, places.ones_host, kElements * kElement, cudaMemcpyDefault), "copy");
  places.arrays = make_arrays();
  places.ones_arrays = make_arrays();
  places.plane_surface = surface_of(places.arrays.plane);
  places.volume_surface = surface_of(places.arrays.volume);
  check(cudaMemcpy2DToArray(places.ones_arrays.plane, 0, 0, places.ones_host, kPitch, kPitch, kRows, cudaMemcpyHostToDevice),
        "copy");
  cudaMemcpy3DParms all{};
  all.srcPtr = pitched(places.ones_host);
  all.dstArray = places.ones_arrays.volume;
  all.extent = make_cudaExtent(kCells, kRows, kSlices);
  all.kind = cudaMemcpyHostToDevice;
  check(cudaMemcpy3D(&all), "copy");
}

void wipe(const Places& places) {
  wipe_all<<<1, 128>>>(places.slots, places.plane_surface, places.volume_surface, places.rounds);
  check(cudaGetLastError(), "wipe");
}

void peek(const Places& places, unsigned number, cudaStream_t stream) {
  peek_at_all<<<1, 128, 0, stream>>>(places.slots, places.plane_surface, places.volume_surface, places.shared, number);
  check(cudaGetLastError(), "peek");
}

void copy(const Places& places, const Work& work, std::size_t cell, cudaStream_t stream, Form form) {
  const auto [to, from, kind, rows, column, whole] = copying(places, work, cell);
  const auto made = [&] {
    if (work.shape == Shape::Slices || (to.array && from.array))
      return call(form, stream, cudaMemcpy3DAsync, cudaMemcpy3D, cudaMemcpy3D_ptds, &whole);
    if (to.array)
      return call(form, stream, cudaMemcpy2DToArrayAsync, cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds, to.array, column, 0u,
                  from.memory, kPitch, kElement, rows, kind);
    if (from.array)
      return call(form, stream, cudaMemcpy2DFromArrayAsync, cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds, to.memory,
                  kPitch, from.array, column, 0u, kElement, rows, kind);
    if (work.shape == Shape::Rows)
      return call(form, stream, cudaMemcpy2DAsync, cudaMemcpy2D, cudaMemcpy2D_ptds, to.memory, kPitch, from.memory, kPitch,
                  kElement, rows, kind);
    return call(form, stream, cudaMemcpyAsync, cudaMemcpy, cudaMemcpy_ptds, to.memory, from.memory, kElement,
                cudaMemcpyDefault);
  };
  check(made(), "copy");
}

void fill(const Places& places, const Work& work, std::size_t cell, cudaStream_t stream, Form form) {
  unsigned* to = filled(places, work, cell);
  const auto made = [&] {
    if (work.shape == Shape::Slices)
      return call(form, stream, cudaMemset3DAsync, cudaMemset3D, cudaMemset3D_ptds, pitched(to), 1,
                  make_cudaExtent(kElement, kRows, kSlices));
    if (work.shape == Shape::Rows)
      return call(form, stream, cudaMemset2DAsync, cudaMemset2D, cudaMemset2D_ptds, to, kPitch, 1, kElement, kRows);
    return call(form, stream, cudaMemsetAsync, cudaMemset, cudaMemset_ptds, to, 1, kElement);
  };
  check(made(), "fill");
}

cudaGraphNode_t add_copy_node(cudaGraph_t graph, const Places& places, const Work& work, std::size_t cell) {
  const Copying copy = copying(places, work, cell);
  cudaGraphNode_t node = nullptr;
  if (work.shape == Shape::One && !copy.to.array && !copy.from.array) {
    check(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, copy.to.memory, copy.from.memory, kElement, cudaMemcpyDefault),
          "copy node");
  } else {
    check(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy.whole), "copy node");
  }
  return node;
}

cudaGraphNode_t add_fill_node(cudaGraph_t graph, const Places& places, const Work& work, std::size_t cell) {
  if (work.shape == Shape::Slices) throw std::runtime_error("a node fills rows at most");
  cudaMemsetParams fill{};
  fill.dst = filled(places, work, cell);
  fill.pitch = kPitch;
  fill.value = 1;
  fill.elementSize = kElement;
  fill.width = 1;
  fill.height = rows_of(work.shape);
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill), "fill node");
  return node;
}

}  // namespace streamsan::lab

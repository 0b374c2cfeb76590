// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// A container that derives from an interface without fields and keeps its elements in a member: an assignment moves the
// member once, behind the end of the old elements, and not with the interface in front of it.
#include <cuda_runtime.h>
#include <rmm/device_uvector.hpp>
#include <utility>

template <typename Derived>
struct Interface {};

class Elements {
  rmm::device_uvector<float> data_;

 public:
  Elements(size_t n, rmm::cuda_stream_view s) : data_(n, s) {}
  ~Elements() = default;
  Elements(Elements&&) noexcept = default;
  Elements& operator=(Elements&&) noexcept = default;
  float* data() { return data_.data(); }
};

class Rows : public Interface<Rows> {
  size_t n_;
  Elements elements_;

 public:
  Rows(size_t n, rmm::cuda_stream_view s) : n_(n), elements_(n, s) {}
  ~Rows() = default;
  Rows(Rows&&) noexcept = default;
  Rows& operator=(Rows&&) noexcept = default;
  float* data() { return elements_.data(); }
};

Rows gather(const float* from, size_t n, bool more, cudaStream_t s) {
  Rows rows(n, s);
  float* first = rows.data();
  cudaMemcpyAsync(first, from, n * sizeof(float), cudaMemcpyDeviceToDevice, s);
  if (more) {
    rows = Rows(2 * n, s);
#ifdef FIXED
    cudaMemcpyAsync(rows.data(), from, 2 * n * sizeof(float), cudaMemcpyDeviceToDevice, s);
#else
    cudaMemcpyAsync(first, from, n * sizeof(float), cudaMemcpyDeviceToDevice, s);  // FIRES: premature-free
#endif
  }
  return rows;
}

struct Span {
  float* data;
};

struct Named : Span {
  int id;
};

/// What the base class has is assigned.
void swap_in(Named& mine, const Span& other, float* own, size_t n, cudaStream_t s) {
  mine.data = own;
  cudaMemcpyAsync(mine.data, other.data, n, cudaMemcpyDeviceToDevice, s);
  cudaFreeAsync(own, s);
#ifdef FIXED
  static_cast<Span&>(mine) = other;
#endif
  cudaMemsetAsync(mine.data, 0, n, s);  // FIRES: premature-free
}

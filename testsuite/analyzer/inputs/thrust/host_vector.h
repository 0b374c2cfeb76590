// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_ptr.h"

namespace thrust {
template <typename T>
class device_vector;
template <typename T>
class host_vector {
 public:
  using value_type = T;
  using iterator = T*;
  host_vector();
  explicit host_vector(size_t n);
  host_vector(size_t n, const T& value);
  host_vector(const host_vector& other);
  host_vector(const device_vector<T>& other);
  ~host_vector();
  host_vector& operator=(const host_vector& other);
  host_vector& operator=(const device_vector<T>& other);
  iterator begin();
  iterator end();
  T* data();
  const T* data() const;
  T& operator[](size_t i);
  const T& operator[](size_t i) const;
  size_t size() const;
  void resize(size_t n);
  void push_back(const T& value);
};
}  // namespace thrust

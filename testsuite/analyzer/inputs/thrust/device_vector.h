// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "device_ptr.h"
#include "host_vector.h"

namespace thrust {
template <typename T>
class device_vector {
 public:
  using value_type = T;
  using iterator = device_ptr<T>;
  using reference = device_reference<T>;
  device_vector();
  explicit device_vector(size_t n);
  device_vector(size_t n, const T& value);
  device_vector(const device_vector& other);
  device_vector(device_vector&& other);
  device_vector(const host_vector<T>& other);
  device_vector(const std::vector<T>& other);
  template <typename It>
  device_vector(It first, It last);
  ~device_vector();
  device_vector& operator=(const device_vector& other);
  device_vector& operator=(device_vector&& other);
  device_vector& operator=(const host_vector<T>& other);
  iterator begin();
  iterator end();
  const iterator begin() const;
  const iterator end() const;
  device_ptr<T> data();
  const device_ptr<T> data() const;
  reference operator[](size_t i);
  reference front();
  reference back();
  size_t size() const;
  bool empty() const;
  void resize(size_t n);
  void resize(size_t n, const T& value);
  void reserve(size_t n);
  void clear();
  void push_back(const T& value);
  void swap(device_vector& other);
};
}  // namespace thrust

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../cuda_runtime.h"

namespace thrust {
template <typename T>
class device_reference {
 public:
  device_reference& operator=(const T& value);
  operator T() const;
};
template <typename T>
class device_ptr {
 public:
  using value_type = T;
  device_ptr();
  explicit device_ptr(T* pointer);
  T* get() const;
  device_reference<T> operator*() const;
  device_reference<T> operator[](ptrdiff_t i) const;
  ptrdiff_t operator-(const device_ptr& other) const;
  device_ptr& operator++();
  bool operator!=(const device_ptr& other) const;
};
template <typename T>
device_ptr<T> operator+(const device_ptr<T>& pointer, ptrdiff_t n);
template <typename T>
device_ptr<T> device_pointer_cast(T* pointer);
template <typename T>
T* raw_pointer_cast(const device_ptr<T>& pointer);
template <typename T>
T* raw_pointer_cast(T* pointer);
}  // namespace thrust

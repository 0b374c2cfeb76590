// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stddef.h>

namespace c10 {
class DataPtr {
 public:
  DataPtr();
  DataPtr(DataPtr&& other);
  DataPtr(const DataPtr&) = delete;
  ~DataPtr();
  void* get() const;
  void clear();
};
struct Allocator {
  virtual ~Allocator();
  virtual DataPtr allocate(size_t n) = 0;
};
struct Storage {
  DataPtr& mutable_data_ptr() const;
  const DataPtr& data_ptr() const;
};
}  // namespace c10

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace torch::headeronly {

template <typename I>
struct integer_iterator {
  I operator*() const { return value; }
  integer_iterator& operator++() {
    ++value;
    return *this;
  }
  bool operator!=(const integer_iterator& other) const { return value != other.value; }
  I value;
};

template <typename I>
struct integer_range {
  integer_range(I begin, I end);
  integer_iterator<I> begin() const;
  integer_iterator<I> end() const;
};

template <typename I>
integer_range<I> irange(I end);

}  // namespace torch::headeronly

namespace c10 {
using torch::headeronly::irange;
}

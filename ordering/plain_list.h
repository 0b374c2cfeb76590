// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list of plain values that is two words, where a std::vector is three.
//
// Shadows and clocks consist of short lists, and what an access costs is mostly the memory that it looks at. The length
// stays in the list all the same: beside the values it would be known later, and so would be where a loop ends. What
// allocates is kept out of the functions that use a list, which it would make twice as long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace streamsan::ordering {

template <typename Value>
class PlainList {
  static_assert(std::is_trivially_copyable_v<Value> && alignof(Value) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

 public:
  PlainList() = default;
  PlainList(const PlainList& other) { assign(other.begin(), other.end()); }
  PlainList(PlainList&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  PlainList& operator=(const PlainList& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  PlainList& operator=(PlainList&& other) noexcept {
    if (this == &other) return *this;
    if (values_) ::operator delete(values_);
    values_ = std::exchange(other.values_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  ~PlainList() {
    if (values_) ::operator delete(values_);  // most have been moved from
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] Value* data() { return values_; }
  [[nodiscard]] const Value* data() const { return values_; }
  [[nodiscard]] Value* begin() { return values_; }
  [[nodiscard]] Value* end() { return values_ + size_; }
  [[nodiscard]] const Value* begin() const { return values_; }
  [[nodiscard]] const Value* end() const { return values_ + size_; }
  [[nodiscard]] Value& operator[](std::size_t i) { return values_[i]; }
  [[nodiscard]] const Value& operator[](std::size_t i) const { return values_[i]; }
  [[nodiscard]] const Value& front() const { return values_[0]; }
  [[nodiscard]] const Value& back() const { return values_[size_ - 1]; }

  [[gnu::always_inline]] void push_back(const Value& value) {
    if (size_ == capacity_) [[unlikely]]
      return push_back_full(value);
    values_[size_++] = value;
  }
  /// As that of std::vector.
  [[gnu::noinline]] void resize(std::size_t count, const Value& value) {
    if (count > capacity_) grow(std::max<std::size_t>(count, std::size_t{capacity_} * 2));
    if (count > size_) std::fill(end(), values_ + count, value);
    truncate(count);
  }
  void assign(const Value* first, const Value* last) {
    clear();
    const auto count = static_cast<std::size_t>(last - first);
    if (count == 0) return;
    reserve(count);
    std::copy(first, last, values_);
    truncate(count);
  }
  /// Keeps the first `count`.
  void truncate(std::size_t count) { size_ = static_cast<std::uint32_t>(count); }
  void clear() { size_ = 0; }
  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  /// Gives the memory back, too.
  void reset() { *this = PlainList(); }
  /// As std::erase_if().
  template <typename Condition>
  std::size_t erase_if(Condition condition) {
    Value* const kept = std::remove_if(begin(), end(), condition);
    const auto erased = static_cast<std::size_t>(end() - kept);
    truncate(size_ - erased);
    return erased;
  }

  friend bool operator==(const PlainList& a, const PlainList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  [[gnu::noinline]] void push_back_full(const Value& value) {
    const Value copy = value;  // it may be one of those that move
    grow(std::max<std::size_t>(1, std::size_t{capacity_} * 2));
    values_[size_++] = copy;
  }
  [[gnu::noinline]] void grow(std::size_t count) {
    auto* const larger = static_cast<Value*>(::operator new(count * sizeof(Value)));
    std::copy(begin(), end(), larger);
    ::operator delete(values_);
    values_ = larger;
    capacity_ = static_cast<std::uint32_t>(count);
  }

  Value* values_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace streamsan::ordering

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes that are read piece by piece: a file, or memory.
//
// A file is not mapped, because one that is cut short while it is mapped ends the reader with SIGBUS; and of a library
// of gigabytes only what is asked for is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace streamsan::ptx {

class Input {
 public:
  Input() = default;
  virtual ~Input() = default;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Fills all of `to`, or returns false.
  virtual bool read(std::uint64_t offset, std::span<std::byte> to) const = 0;
  [[nodiscard]] std::uint64_t size() const { return size_; }

  template <typename T>
  bool load(std::uint64_t offset, T& out) const {
    return read(offset, std::as_writable_bytes(std::span(&out, 1)));
  }

 protected:
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }
  std::uint64_t size_ = 0;
};

/// Memory of the caller.
class MemoryInput : public Input {
 public:
  explicit MemoryInput(std::span<const std::byte> bytes) : bytes_(bytes) { size_ = bytes.size(); }
  bool read(std::uint64_t offset, std::span<std::byte> to) const override;

 private:
  std::span<const std::byte> bytes_;
};

/// A regular file; anything else, and what cannot be opened, is empty. Small reads are served from a window of it.
class FileInput : public Input {
 public:
  explicit FileInput(const std::string& path);
  ~FileInput() override;
  bool read(std::uint64_t offset, std::span<std::byte> to) const override;

 private:
  bool read_file(std::uint64_t offset, std::span<std::byte> to) const;

  int file_ = -1;
  mutable std::vector<std::byte> window_;
  mutable std::uint64_t window_at_ = 0;
};

}  // namespace streamsan::ptx

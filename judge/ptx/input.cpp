// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace streamsan::ptx {
namespace {

constexpr std::uint64_t kWindow = std::uint64_t{64} << 10;

}  // namespace

bool MemoryInput::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (!holds(offset, to.size())) return false;
  if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
  return true;
}

FileInput::FileInput(const std::string& path) {
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status{};
  if (file_ >= 0 && fstat(file_, &status) == 0 && S_ISREG(status.st_mode))
    size_ = static_cast<std::uint64_t>(status.st_size);
}

FileInput::~FileInput() {
  if (file_ >= 0) close(file_);
}

bool FileInput::read_file(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(file_, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;  // the end, too: it was longer when it was opened
    offset += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool FileInput::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (!holds(offset, to.size())) return false;
  if (to.size() > kWindow / 4) return read_file(offset, to);
  if (offset < window_at_ || offset + to.size() > window_at_ + window_.size()) {
    window_at_ = offset;
    window_.resize(std::min(kWindow, size_ - offset));
    if (!read_file(window_at_, window_)) {
      window_.clear();
      return false;
    }
  }
  if (!to.empty()) std::memcpy(to.data(), window_.data() + (offset - window_at_), to.size());
  return true;
}

}  // namespace streamsan::ptx

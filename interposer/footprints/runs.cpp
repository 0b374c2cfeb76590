// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/runs.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace streamsan::footprints {
namespace {

// Most of a region is untouched, or touched without a gap: that is seen for a line of the cache at a time.
constexpr unsigned kBlockWords = 16;
static_assert(kModeWords % kBlockWords == 0);

enum class Bits { None, Some, All };

Bits bits_of_block(const std::uint32_t* words) {
  std::uint32_t any = 0;
  std::uint32_t all = ~std::uint32_t{0};
  for (unsigned word = 0; word < kBlockWords; ++word) {
    any |= words[word];
    all &= words[word];
  }
  if (any == 0) return Bits::None;
  return all == ~std::uint32_t{0} ? Bits::All : Bits::Some;
}

}  // namespace

void Runs::clear() {
  count_ = 0;
  full_ = false;
  for (std::size_t& last : last_) last = 0;
}

void Runs::add_run(unsigned mode, std::uint64_t begin, std::uint64_t end) {
  if (last_[mode] && ranges_[last_[mode] - 1].end == begin) {
    ranges_[last_[mode] - 1].end = end;
    return;
  }
  if (count_ == kMost) {
    full_ = true;
    return;
  }
  ranges_[count_++] = {begin, end, 1u << mode, 0};
  last_[mode] = count_;
}

void Runs::add_bits(unsigned mode, std::uint64_t begin, std::uint32_t bits) {
  while (bits) {
    const unsigned first = static_cast<unsigned>(std::countr_zero(bits));
    const unsigned length = static_cast<unsigned>(std::countr_one(bits >> first));
    add_run(mode, begin + first, begin + first + length);
    if (first + length >= 32) return;
    bits &= ~std::uint32_t{0} << (first + length);
  }
}

void Runs::add_region(std::uint64_t region, const std::uint32_t* words) {
  if (!ranges_) {
    void* made = mmap(nullptr, kMost * sizeof(StreamSanRange), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
      full_ = true;
      return;
    }
    ranges_ = static_cast<StreamSanRange*>(made);
  }
  const std::uint64_t base = region << kRegionShift;
  for (unsigned mode = 0; mode < kModes; ++mode) {
    const std::uint32_t* bits = words + mode * kModeWords;
    for (std::uint32_t at = 0; at < kModeWords; at += kBlockWords) {
      const std::uint64_t begin = base + std::uint64_t{at} * 32;
      switch (bits_of_block(bits + at)) {
        case Bits::None:
          break;
        case Bits::All:
          add_run(mode, begin, begin + kBlockWords * 32);
          break;
        case Bits::Some:
          for (unsigned word = 0; word < kBlockWords; ++word) add_bits(mode, begin + word * 32, bits[at + word]);
      }
    }
  }
}

const StreamSanRange* Runs::finish(std::size_t& count) {
  std::sort(ranges_, ranges_ + count_, [](const StreamSanRange& a, const StreamSanRange& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.modes < b.modes;
  });
  count = count_;
  return ranges_;
}

}  // namespace streamsan::footprints

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/launch_arguments.h"

#include <cstring>

#include "interposer/handle_table.h"
#include "interposer/hot.h"
#include "interposer/pointer_regions.h"
#include "trace/format.h"

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t kAnyPointer = 0x1d8e4e27c47d124f;  // stands for a pointer where its value does not matter

std::uint64_t word_at(const char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

inline std::uint64_t LaunchArguments::plain(std::uint64_t word, unsigned index, bool in_structure) {
  if (!may_be_pointer(word)) return word;
  addresses_ = add_word(addresses_, word);
  if (count_ < kMostLaunchPointers) pointers_[count_++] = trace::pointer_word(index, word, in_structure);
  return kAnyPointer;
}

STREAMSAN_HOT_CODE void LaunchArguments::parameter(unsigned index, const char* bytes, std::uint32_t size) {
  const bool in_structure = size > 8;
  const auto next = [&](std::uint64_t word) {
    std::uint64_t& chain = chains_[turn_++ % kChains];
    chain = add_word(chain, word);
  };
  const char* const end = bytes + size;
  for (; end - bytes >= 8 && turn_ % kChains != 0; bytes += 8) next(plain(word_at(bytes), index, in_structure));
  if (end - bytes >= 8 * kChains) {
    auto [a, b, c, d] = chains_;  // in registers
    for (; end - bytes >= 8 * kChains; bytes += 8 * kChains) {
      a = add_word(a, plain(word_at(bytes), index, in_structure));
      b = add_word(b, plain(word_at(bytes + 8), index, in_structure));
      c = add_word(c, plain(word_at(bytes + 16), index, in_structure));
      d = add_word(d, plain(word_at(bytes + 24), index, in_structure));
    }
    chains_[0] = a, chains_[1] = b, chains_[2] = c, chains_[3] = d;
  }
  for (; end - bytes >= 8; bytes += 8) next(plain(word_at(bytes), index, in_structure));
  if (bytes == end) return;
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes, static_cast<std::size_t>(end - bytes));
  next(rest);
}

STREAMSAN_HOT_CODE ArgumentHashes LaunchArguments::hashes() const {
  std::uint64_t shape = extents_;
  for (const std::uint64_t chain : chains_) shape = add_word(shape, chain);
  const std::uint64_t buffers = add_word(extents_, addresses_);
  return {.all = mix_bits(add_word(shape, addresses_)),
          .shape = mix_bits(shape),
          .buffers = mix_bits(buffers),
          .extents = mix_bits(extents_)};
}

}  // namespace streamsan::recorder

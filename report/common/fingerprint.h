// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fingerprint: 16 hexadecimal digits made of words, the same on every machine.
//
// A byte ends each word, so that "ab" and "a", "b" differ. Each product chooses its words (see report/fingerprint.h,
// judge/explain.h and analyzer/tidy/fingerprint.cpp); so is the hash beneath, because the values stand in the baselines
// of users and are never changed: `streamsan` began with FNV-1a, `streamsan-tidy` with MD5.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace streamsan::report {

/// Hash::add(std::string_view), Hash::value() and Hash::kEnd, the byte that closes a word.
template <typename Hash>
class HashedWords {
 public:
  void add(std::string_view word) {
    hash_.add(word);
    hash_.add(std::string_view(&Hash::kEnd, 1));
  }
  [[nodiscard]] std::string text() const {
    std::string out(16, '0');
    std::uint64_t rest = hash_.value();
    for (auto digit = out.rbegin(); digit != out.rend(); ++digit, rest >>= 4) *digit = "0123456789abcdef"[rest & 15];
    return out;
  }

 private:
  Hash hash_;
};

class Fnv1a {
 public:
  static constexpr char kEnd = '\xff';
  void add(std::string_view bytes) {
    for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

/// Tells equal fingerprints of one list apart: the second gets "#2".
class FingerprintNumbers {
 public:
  std::string numbered(const std::string& fingerprint) {
    const unsigned number = ++seen_[fingerprint];
    return number == 1 ? fingerprint : fingerprint + "#" + std::to_string(number);
  }

 private:
  std::map<std::string, unsigned> seen_;
};

}  // namespace streamsan::report

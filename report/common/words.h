// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The enumerations of words.def, their words, and the way back.
//
// Inside, each such value is an enumerator; it becomes a word only when a file is written, and an enumerator again when
// a file is read. Code that asks "== \"unneeded\"" compiles with any spelling; Verdict::Unneeded does not.
//
// CLOSED AND OPEN. Where the code branches on a value, an unknown word is a fault of the file that is read. Hazards and
// causes are only shown: a newer version may have more of them, and its files are to be read. Those are a Word: one of
// the enumerators, or a word that is kept as it came.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace streamsan::report {

#define SS_WORDS(Enum) enum class Enum : std::uint8_t {
#define SS_WORD(enumerator, word) enumerator,
#define SS_WORDS_END \
  }                  \
  ;
#include "report/common/words.def"
#undef SS_WORDS
#undef SS_WORD
#undef SS_WORDS_END

/// Words<Enum>::kAll: the words by the enumerators' numbers.
template <typename Enum>
struct Words;

#define SS_WORDS(Enum) \
  template <>          \
  struct Words<Enum> { \
    static constexpr const char* kAll[] = {
#define SS_WORD(enumerator, word) word,
#define SS_WORDS_END \
  }                  \
  ;                  \
  }                  \
  ;
#include "report/common/words.def"
#undef SS_WORDS
#undef SS_WORD
#undef SS_WORDS_END

template <typename Enum>
concept Worded = requires { Words<Enum>::kAll; };

template <Worded Enum>
constexpr const char* name(Enum value) {
  return Words<Enum>::kAll[static_cast<std::size_t>(value)];
}

/// All enumerators, in their order.
template <Worded Enum>
inline constexpr auto kEach = [] {
  std::array<Enum, std::size(Words<Enum>::kAll)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Enum>(i);
  return out;
}();

/// The enumerator of a word; nothing: there is none.
template <Worded Enum>
constexpr std::optional<Enum> find(std::string_view word) {
  for (const Enum each : kEach<Enum>) {
    if (word == name(each)) return each;
  }
  return std::nullopt;
}

/// "race, premature-free, host-race": for messages.
template <Worded Enum>
std::string listed() {
  std::string out;
  for (const Enum each : kEach<Enum>) out += (out.empty() ? "" : ", ") + std::string(name(each));
  return out;
}

/// An enumerator, or a word that this version does not know.
template <Worded Enum>
class Word {
 public:
  Word() = default;
  Word(Enum known) : known_(known) {}
  static Word of(std::string_view text) {
    Word out;
    out.known_ = find<Enum>(text);
    if (!out.known_) out.other_ = text;
    return out;
  }

  /// Nothing: a word of another version, or none.
  [[nodiscard]] std::optional<Enum> known() const { return known_; }
  [[nodiscard]] std::string text() const { return known_ ? name(*known_) : other_; }
  [[nodiscard]] bool empty() const { return !known_ && other_.empty(); }
  /// Changes the text of a word that is not known.
  template <typename Change>
  void clean(Change change) {
    other_ = change(other_);
  }

  friend bool operator==(const Word&, const Word&) = default;

 private:
  std::optional<Enum> known_;
  std::string other_;
};

}  // namespace streamsan::report

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line of the text form, read from left to right. Text that cannot be read throws Malformed, which parse() turns
// into its one error message. No exception leaves parse().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace streamsan::analyzer::ir {

struct Malformed {
  std::string reason;
};

class Cursor {
 public:
  explicit Cursor(std::string_view line) : line_(line) {}

  /// Past white space; at the end of the line or at a comment.
  bool at_end();
  /// The next character, white space skipped; 0 at the end.
  char peek();
  /// Takes exactly this punctuation.
  bool take(std::string_view punctuation);
  void expect(std::string_view punctuation);
  /// Takes the punctuation only if no white space precedes it.
  bool take_adjacent(std::string_view punctuation);
  /// Takes a bare word if it is this one.
  bool take_word(std::string_view word);
  std::string_view peek_word();
  /// A bare word; throws if there is none.
  std::string word(std::string_view what);
  /// `"..."` or a bare word.
  std::string text(std::string_view what);
  /// "`...`" or a bare word.
  std::string name(std::string_view what);
  /// Up to the delimiter; the opening one is taken already. Escapes are resolved.
  std::string quoted(char delimiter);
  /// Text of an expression, up to an unescaped `close` or `@`, which are left.
  std::string expression_text(char open, char close);
  std::uint32_t number(std::string_view what);
  std::int64_t signed_number(std::string_view what);
  /// Characters up to white space or `:`.
  std::string file();

  [[noreturn]] void fail(const std::string& reason) const;

 private:
  void skip_space();
  void skip();  ///< a comment, too

  std::string_view line_;
  std::size_t at_ = 0;
};

}  // namespace streamsan::analyzer::ir

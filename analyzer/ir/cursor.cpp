// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading one line: white space separates and means nothing else, `//` outside of quotes ends the line.
#include "analyzer/ir/cursor.h"

#include <charconv>

#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

char unescaped(char c) { return c == 'n' ? '\n' : c == 'r' ? '\r' : c; }

}  // namespace

void Cursor::fail(const std::string& reason) const {
  std::string_view rest = line_.substr(at_, 40);
  throw Malformed{reason + (rest.empty() ? ", at the end of the line" : ", at '" + std::string(rest) + "'")};
}

void Cursor::skip_space() {
  while (at_ < line_.size() && is_space(line_[at_])) {
    ++at_;
  }
}

void Cursor::skip() {
  skip_space();
  if (line_.substr(at_).starts_with("//")) {
    at_ = line_.size();
  }
}

bool Cursor::at_end() {
  skip();
  return at_ == line_.size();
}

char Cursor::peek() { return at_end() ? '\0' : line_[at_]; }

bool Cursor::take(std::string_view punctuation) {
  skip();
  return take_adjacent(punctuation);
}

bool Cursor::take_adjacent(std::string_view punctuation) {
  if (!line_.substr(at_).starts_with(punctuation)) {
    return false;
  }
  at_ += punctuation.size();
  return true;
}

void Cursor::expect(std::string_view punctuation) {
  if (!take(punctuation)) {
    fail("'" + std::string(punctuation) + "' expected");
  }
}

std::string_view Cursor::peek_word() {
  skip();
  std::size_t end = at_;
  while (end < line_.size() && is_word_character(line_[end])) {
    ++end;
  }
  return line_.substr(at_, end - at_);
}

bool Cursor::take_word(std::string_view word) {
  if (peek_word() != word) {
    return false;
  }
  at_ += word.size();
  return true;
}

std::string Cursor::word(std::string_view what) {
  const std::string_view found = peek_word();
  if (found.empty()) {
    fail(std::string(what) + " expected");
  }
  at_ += found.size();
  return std::string(found);
}

std::string Cursor::text(std::string_view what) { return take("\"") ? quoted('"') : word(what); }

std::string Cursor::name(std::string_view what) { return take("`") ? quoted('`') : word(what); }

std::string Cursor::quoted(char delimiter) {
  std::string text;
  for (; at_ < line_.size() && line_[at_] != delimiter; ++at_) {
    if (line_[at_] == '\\' && at_ + 1 < line_.size()) {
      text += unescaped(line_[++at_]);
    } else {
      text += line_[at_];
    }
  }
  if (at_ == line_.size()) {
    fail(std::string("closing ") + delimiter + " expected");
  }
  ++at_;
  return text;
}

std::string Cursor::expression_text(char open, char close) {
  skip_space();
  std::string text;
  std::size_t nested = 0;
  std::size_t written = 0;  // without the white space at the end
  for (; at_ < line_.size() && line_[at_] != '@' && (line_[at_] != close || nested != 0); ++at_) {
    nested += line_[at_] == open ? 1 : 0;
    nested -= line_[at_] == close ? 1 : 0;
    if (line_[at_] == '\\' && at_ + 1 < line_.size()) {
      text += unescaped(line_[++at_]);
      written = text.size();
    } else {
      text += line_[at_];
      written = is_space(line_[at_]) ? written : text.size();
    }
  }
  text.resize(written);
  return text;
}

std::uint32_t Cursor::number(std::string_view what) {
  const std::string_view digits = peek_word();
  std::uint32_t value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || failed != std::errc{} || end != digits.data() + digits.size()) {
    fail(std::string(what) + " expected");
  }
  at_ += digits.size();
  return value;
}

std::int64_t Cursor::signed_number(std::string_view what) {
  const std::string sign = take("-") ? "-" : "";
  const auto value = literal(sign + std::string(peek_word()));
  if (!value) {
    fail(std::string(what) + " expected");
  }
  at_ += peek_word().size();
  return *value;
}

std::string Cursor::file() {
  skip();
  if (take_adjacent("\"")) {
    return quoted('"');
  }
  const std::size_t start = at_;
  while (at_ < line_.size() && !is_space(line_[at_]) && line_[at_] != ':') {
    ++at_;
  }
  return std::string(line_.substr(start, at_ - start));
}

}  // namespace streamsan::analyzer::ir

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intervals by recursive descent, with the precedence of C++.
#include "analyzer/ir/range.h"

#include <algorithm>
#include <array>

#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {
namespace {

constexpr Range kTrue{1, 1}, kFalse{0, 0}, kTruth{0, 1};

Range truth_of(std::optional<bool> known) { return !known ? kTruth : *known ? kTrue : kFalse; }

/// The bound that an operation gives; one that does not fit is none.
template <typename Operation>
std::optional<std::int64_t> bound(std::int64_t a, std::int64_t b, Operation operation) {
  if (a == Range::kLeast || a == Range::kMost || b == Range::kLeast || b == Range::kMost) return std::nullopt;
  std::int64_t result = 0;
  return operation(a, b, &result) ? std::nullopt : std::optional(result);
}

Range plus(const Range& a, const Range& b) {
  const auto add = [](std::int64_t x, std::int64_t y, std::int64_t* out) { return __builtin_add_overflow(x, y, out); };
  return {bound(a.low, b.low, add).value_or(Range::kLeast), bound(a.high, b.high, add).value_or(Range::kMost)};
}

Range negative(const Range& a) {
  const auto turn = [](std::int64_t x, std::int64_t none) {
    return x == Range::kLeast || x == Range::kMost ? none : -x;
  };
  return {turn(a.high, Range::kLeast), turn(a.low, Range::kMost)};
}

Range times(const Range& a, const Range& b) {
  const auto multiply = [](std::int64_t x, std::int64_t y, std::int64_t* out) {
    return __builtin_mul_overflow(x, y, out);
  };
  Range result{Range::kMost, Range::kLeast};
  for (const std::int64_t x : {a.low, a.high}) {
    for (const std::int64_t y : {b.low, b.high}) {
      const auto product = bound(x, y, multiply);
      if (!product) return {};
      result = {std::min(result.low, *product), std::max(result.high, *product)};
    }
  }
  return result;
}

/// Of two numbers; anything else is any number.
Range exactly(std::string_view sign, const Range& left, const Range& right) {
  const auto a = left.number(), b = right.number();
  const bool positive = b && *b > 0;
  if (sign == "%" && positive && left.low >= 0 && !a) return {0, *b - 1};
  if (!a || !b) return {};
  if (sign == "/" && positive) return Range::one(*a / *b);
  if (sign == "%" && positive) return Range::one(*a % *b);
  if (sign == "&") return Range::one(*a & *b);
  if (sign == "|") return Range::one(*a | *b);
  if (sign == "^") return Range::one(*a ^ *b);
  if (sign == ">>" && *b >= 0 && *b < 63) return Range::one(*a >> *b);
  if (sign == "<<" && *b >= 0 && *b < 31 && *a >= 0 && *a < (std::int64_t{1} << 31U)) return Range::one(*a << *b);
  return {};
}

Range compared(std::string_view sign, const Range& a, const Range& b) {
  const bool apart = a.high < b.low || b.high < a.low;
  const bool equal = a.number() && a.number() == b.number();
  if (sign == "==") return truth_of(apart ? std::optional(false) : equal ? std::optional(true) : std::nullopt);
  if (sign == "!=") return truth_of(apart ? std::optional(true) : equal ? std::optional(false) : std::nullopt);
  if (sign == "<")
    return truth_of(a.high < b.low ? std::optional(true) : a.low >= b.high ? std::optional(false) : std::nullopt);
  if (sign == ">") return compared("<", b, a);
  const auto not_less = [](const Range& less) {
    return truth_of(less.truth() ? std::optional(!*less.truth()) : std::nullopt);
  };
  return sign == "<=" ? not_less(compared("<", b, a)) : not_less(compared("<", a, b));
}

/// The types are not known here: a result below 0 may be a great number, and one that is too great for a narrow type a
/// small one. Counting up without a known end is taken to end in time.
Range fitting(const Range& range) {
  constexpr std::int64_t kSmall = 127;
  return range.low >= 0 && (range.high <= kSmall || range.high == Range::kMost) ? range : Range{};
}

class RangeReader {
 public:
  RangeReader(std::string_view text, const RangeOf& range_of) : text_(text), range_of_(range_of) {}

  Range whole() {
    const Range result = choice();
    blanks();
    return failed_ || at_ < text_.size() ? Range{} : result;
  }

 private:
  static constexpr std::uint32_t kDeepest = 60;

  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view sign) {
    blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  Range choice() {
    if (++depth_ > kDeepest) return fail();
    const Range condition = binary(0);
    Range result = condition;
    if (!failed_ && take("?")) {
      const Range yes = choice();
      if (!take(":")) return fail();
      const Range no = choice();
      const auto known = condition.truth();
      result = !known ? Range{std::min(yes.low, no.low), std::max(yes.high, no.high)} : *known ? yes : no;
    }
    --depth_;
    return result;
  }

  std::string_view sign_of(std::size_t level) {
    blanks();
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view sign : kSigns[level]) {
      if (sign.empty() || !rest.starts_with(sign)) continue;
      // `&` is not the begin of `&&`, nor `<` of `<<`, nor `=` of an assignment.
      const char next = rest.size() > sign.size() ? rest[sign.size()] : ' ';
      const bool longer = sign.size() == 1 && (next == '=' || next == sign.front());
      if (longer && !(sign == "<" && next == '=') && !(sign == ">" && next == '=')) continue;
      return sign;
    }
    return {};
  }

  Range binary(std::size_t level) {
    if (level == kSigns.size()) return unary();
    Range left = binary(level + 1);
    for (std::string_view sign = sign_of(level); !failed_ && !sign.empty(); sign = sign_of(level)) {
      at_ += sign.size();
      const Range right = binary(level + 1);
      left = apply(sign, left, right);
    }
    return left;
  }

  static Range apply(std::string_view sign, const Range& left, const Range& right) {
    const auto a = left.truth(), b = right.truth();
    if (sign == "||")
      return truth_of(a == true || b == true ? std::optional(true) : a && b ? std::optional(false) : std::nullopt);
    if (sign == "&&")
      return truth_of(a == false || b == false ? std::optional(false) : a && b ? std::optional(true) : std::nullopt);
    if (sign == "+") return fitting(plus(left, right));
    if (sign == "-") return fitting(plus(left, negative(right)));
    if (sign == "*") return fitting(times(left, right));
    if (sign.front() == '=' || sign.front() == '!' || sign == "<" || sign == ">" || sign == "<=" || sign == ">=")
      return compared(sign, left, right);
    return fitting(exactly(sign, left, right));
  }

  Range unary() {
    if (take("!")) {
      const auto inner = unary().truth();
      return truth_of(inner ? std::optional(!*inner) : std::nullopt);
    }
    if (take("-") || take("~")) {
      unary();
      return {};
    }
    if (take("(")) {
      const Range inner = choice();
      return take(")") ? inner : fail();
    }
    blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '~' && is_word_character(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return fail();
    if (word.front() < '0' || word.front() > '9') return range_of_(word).value_or(Range{});
    const std::optional<std::int64_t> number = literal(word);
    return number ? Range::one(*number) : fail();
  }

  Range fail() {
    failed_ = true;
    return {};
  }

  /// From the weakest to the strongest.
  static constexpr std::array<std::array<std::string_view, 4>, 10> kSigns{{{"||"},
                                                                           {"&&"},
                                                                           {"|"},
                                                                           {"^"},
                                                                           {"&"},
                                                                           {"==", "!="},
                                                                           {"<=", ">=", "<", ">"},
                                                                           {"<<", ">>"},
                                                                           {"+", "-"},
                                                                           {"*", "/", "%"}}};
  std::string_view text_;
  const RangeOf& range_of_;
  std::size_t at_ = 0;
  std::uint32_t depth_ = 0;
  bool failed_ = false;
};

}  // namespace

Range evaluate(std::string_view text, const RangeOf& range_of) { return RangeReader(text, range_of).whole(); }

}  // namespace streamsan::analyzer::ir

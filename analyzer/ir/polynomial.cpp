// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and adding polynomials.
#include "analyzer/ir/polynomial.h"

#include <algorithm>
#include <utility>

#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {
namespace {

constexpr std::size_t kMostTerms = 32;

bool in_word(char c) { return c != '~' && is_word_character(c); }

/// sum := product (('+' | '-') product)*; product := factor ('*' factor)*; factor := '-' factor | '(' sum ')' | word
class PolynomialReader {
 public:
  PolynomialReader(std::string_view text, const Polynomial::Name& name) : text_(text), name_(name) {}

  std::optional<Polynomial> whole() {
    std::optional<Polynomial> result = sum();
    return peek() == 0 ? result : std::nullopt;
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::optional<Polynomial> sum() {
    std::optional<Polynomial> result = product();
    while (result && (peek() == '+' || peek() == '-')) {
      const std::int64_t sign = text_[at_++] == '+' ? 1 : -1;
      const std::optional<Polynomial> next = product();
      result = next ? result->plus(*next, sign) : std::nullopt;
    }
    return result;
  }

  std::optional<Polynomial> product() {
    std::optional<Polynomial> result = factor();
    while (result && peek() == '*') {
      ++at_;
      const std::optional<Polynomial> next = factor();
      result = next ? result->times(*next) : std::nullopt;
    }
    return result;
  }

  std::optional<Polynomial> factor() {
    const char next = peek();
    if (next == '-') {
      ++at_;
      const std::optional<Polynomial> negated = factor();
      return negated ? Polynomial(0).plus(*negated, -1) : std::nullopt;
    }
    if (next == '(') return group();
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return std::nullopt;
    if (word.front() < '0' || word.front() > '9') return named(word);
    const std::optional<std::int64_t> number = literal(word);
    return number ? std::optional<Polynomial>(*number) : std::nullopt;
  }

  std::optional<Polynomial> group() {
    const std::size_t begin = at_++;
    std::optional<Polynomial> inside = sum();
    if (inside && peek() == ')') {
      ++at_;
      return inside;
    }
    // Not a polynomial: treat the text in the parentheses as the name of one variable.
    std::size_t depth = 0;
    std::string name;
    for (at_ = begin; at_ < text_.size();) {
      if (in_word(text_[at_])) {
        const std::size_t word = at_;
        while (at_ < text_.size() && in_word(text_[at_])) ++at_;
        const std::string_view inner = text_.substr(word, at_ - word);
        const bool number = inner.front() >= '0' && inner.front() <= '9';
        const std::string called = number ? std::string(inner) : name_(inner);
        if (called.empty()) return std::nullopt;
        name += called;
        continue;
      }
      depth += text_[at_] == '(' ? 1 : 0;
      depth -= text_[at_] == ')' ? 1 : 0;
      name += text_[at_++];
      if (depth == 0) return Polynomial::variable(std::move(name));
    }
    return std::nullopt;
  }

  std::optional<Polynomial> named(std::string_view word) const {
    std::string name = name_(word);
    return name.empty() ? std::nullopt : std::optional(Polynomial::variable(std::move(name)));
  }

  std::string_view text_;
  const Polynomial::Name& name_;
  std::size_t at_ = 0;
};

}  // namespace

Polynomial::Polynomial(std::int64_t constant) {
  if (constant != 0) terms_[{}] = constant;
}

std::optional<Polynomial> Polynomial::parse(std::string_view text, const Name& name) {
  return PolynomialReader(text, name).whole();
}

Polynomial Polynomial::variable(std::string name) {
  Polynomial result;
  result.terms_[{std::move(name)}] = 1;
  return result;
}

bool Polynomial::add(const Variables& variables, std::int64_t factor) {
  std::int64_t& here = terms_[variables];
  if (__builtin_add_overflow(here, factor, &here)) return false;
  if (here == 0) terms_.erase(variables);
  return terms_.size() <= kMostTerms;
}

std::optional<Polynomial> Polynomial::plus(const Polynomial& other, std::int64_t times) const {
  Polynomial result = *this;
  for (const auto& [variables, factor] : other.terms_) {
    std::int64_t scaled = 0;
    if (__builtin_mul_overflow(factor, times, &scaled) || !result.add(variables, scaled)) return std::nullopt;
  }
  return result;
}

std::optional<Polynomial> Polynomial::times(const Polynomial& other) const {
  Polynomial result;
  for (const auto& [left, a] : terms_) {
    for (const auto& [right, b] : other.terms_) {
      Variables both = left;
      both.insert(both.end(), right.begin(), right.end());
      std::sort(both.begin(), both.end());
      std::int64_t product = 0;
      if (__builtin_mul_overflow(a, b, &product) || !result.add(both, product)) return std::nullopt;
    }
  }
  return result;
}

std::optional<std::int64_t> Polynomial::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() > 1 || !terms_.begin()->first.empty()) return std::nullopt;
  return terms_.begin()->second;
}

std::string numbered(const Function& function, const Expr& expr) {
  std::string text = expr.text;
  const auto replace = [&](const std::string& what, const std::string& with) {
    bool any = false;
    for (std::size_t at = text.find(what); !what.empty() && at != std::string::npos;) {
      const std::size_t end = at + what.size();
      const char before = at > 0 ? text[at - 1] : ' ';
      const bool inside_word = (in_word(what.front()) && (in_word(before) || before == '.' || before == '>')) ||
                               (end < text.size() && in_word(text[end]) && in_word(what.back()));
      // `n` is neither `count` nor `p.n` nor `p->n`.
      if (!inside_word) text.replace(at, what.size(), with);
      any = any || !inside_word;
      at = text.find(what, inside_word ? end : at + with.size());
    }
    return any;
  };
  for (std::size_t number = 0; number < expr.uses.size(); ++number) {
    const std::string with = "$" + std::to_string(number);
    if (replace(function.spell(expr.uses[number]), with)) continue;
    // Of an inlined method: what it calls `this->ring.next` is `object.feeder.ring.next` here. Not `other.next`.
    const Place& used = function[expr.uses[number]];
    const auto same_name = [&](PlaceId use) { return function[use].name == used.name; };
    if (std::ranges::count_if(expr.uses, same_name) > 1) continue;
    std::string path;
    bool through_pointer = false;
    for (PlaceId at = expr.uses[number]; at != kNoPlace; at = function[at].base) {
      const Place& part = function[at];
      if (part.kind == Place::Kind::Deref && !path.empty()) {
        through_pointer = true;
        continue;
      }
      if (part.kind != Place::Kind::Field) break;
      path = path.empty() ? part.name : part.name + (through_pointer ? "->" : ".") + path;
      through_pointer = false;
      if (replace("this->" + path, with)) break;
    }
  }
  return text;
}

}  // namespace streamsan::analyzer::ir

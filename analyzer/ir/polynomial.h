// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offsets and sizes as polynomials, so that they can be subtracted: `(i + 1) * n` less `i * n` is `n`.
//
// An Expr is text. Its terms with + - * and parentheses are multiplied out. A part with any other operator in it
// (`n / 2`, `i % 3`) is a variable of its own if parentheses enclose it, and ends the attempt if not. A polynomial
// says nothing of the sign of its variables, and arithmetic is taken not to overflow.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

class Polynomial {
 public:
  using Variables = std::vector<std::string>;  ///< multiplied; sorted
  /// What a word of the text is called in the polynomial; empty: it has no value that can be compared.
  using Name = std::function<std::string(std::string_view word)>;

  explicit Polynomial(std::int64_t constant = 0);
  static Polynomial variable(std::string name);
  /// Absent: it is none, or its numbers do not fit.
  static std::optional<Polynomial> parse(std::string_view text, const Name& name);

  [[nodiscard]] std::optional<Polynomial> plus(const Polynomial& other, std::int64_t times = 1) const;
  [[nodiscard]] std::optional<Polynomial> times(const Polynomial& other) const;
  [[nodiscard]] const std::map<Variables, std::int64_t>& terms() const { return terms_; }
  [[nodiscard]] std::optional<std::int64_t> constant() const;

  friend bool operator==(const Polynomial&, const Polynomial&) = default;

 private:
  bool add(const Variables& variables, std::int64_t factor);

  std::map<Variables, std::int64_t> terms_;  ///< factors, none of them 0
};

/// The text of `expr` with its uses written $0, $1, ...
std::string numbered(const Function& function, const Expr& expr);

}  // namespace streamsan::analyzer::ir

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of a register for a box of threads, and arithmetic on such values.
//
// An operation whose result has another form in different parts of the box asks for a cut: it leaves the form to cut at
// in Arithmetic::cut and has no result. It is asked again for each part.
#pragma once

#include <cstdint>
#include <optional>

#include "judge/ptx/affine.h"
#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

struct Value {
  enum class Kind : std::uint8_t {
    Unknown,
    Number,  ///< `form` modulo 2^bits
    AtMost,  ///< unknown, between 0 and form.constant
  };
  Kind kind = Kind::Unknown;
  std::uint8_t bits = 0;  ///< so many of the low bits are known
  Affine form;

  [[nodiscard]] bool known() const { return kind == Kind::Number; }
  bool operator==(const Value&) const = default;
};

Value number(const Affine& form, unsigned bits);
Value constant(Wide value, unsigned bits = 64);

class Arithmetic {
 public:
  explicit Arithmetic(const Box& box) : box_(box) {}

  /// Set if the box must be cut here before an answer can be given.
  std::optional<Affine> cut;

  /// The number itself, as one of the type; nothing if it is not known.
  std::optional<Affine> exact(const Value& value, Type type);
  /// The same if it is one number for all of the box.
  std::optional<Wide> single(const Value& value, Type type);

  Value add(const Value& a, const Value& b, unsigned bits);
  Value subtract(const Value& a, const Value& b, unsigned bits);
  Value multiply(const Value& a, const Value& b, Type type, Half half);
  Value divide(const Value& a, const Value& b, Type type, bool remainder);
  Value bit_and(const Value& a, const Value& b, unsigned bits);
  Value bit_or(const Value& a, const Value& b, unsigned bits, bool exclusive);
  Value invert(const Value& a, unsigned bits);
  Value shift(const Value& a, const Value& by, Type type, bool left);
  Value extract(const Value& a, const Value& position, const Value& length, Type type);
  /// `a` in place of the bits of `into` from `position` on.
  Value insert(const Value& a, const Value& into, const Value& position, const Value& length, unsigned bits);
  Value extreme(const Value& a, const Value& b, Type type, bool largest);
  Value absolute(const Value& a, Type type);
  Value convert(const Value& a, Type to, Type from, bool saturates);
  /// 0, 1 or unknown.
  Value compare(const Value& a, const Value& b, Type type, Compare how);

 private:
  struct Interval {
    Wide low;
    Wide high;
  };
  std::optional<Interval> range(const Value& value, Type type);
  /// Is it below zero (true), not below (false), or must the box be cut (nothing)?
  std::optional<bool> negative(const Affine& form);
  /// floor(form / by) as a form.
  std::optional<Affine> quotient(const Affine& form, Wide by);
  /// a mod 2^bits.
  Value low_bits(const Value& a, unsigned bits, unsigned width);

  const Box& box_;
};

}  // namespace streamsan::ptx

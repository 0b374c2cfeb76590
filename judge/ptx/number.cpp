// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/number.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace streamsan::ptx {
namespace {

constexpr Wide kMostQuotients = 1024;
constexpr std::int64_t kMostFactor = std::int64_t{1} << 61;

Type unsigned_type(unsigned bits) { return {static_cast<std::uint8_t>(bits), false, true}; }

/// The largest power of two that divides all of the form, as its exponent.
unsigned trailing_zeros(const Affine& form) {
  std::uint64_t bits = static_cast<std::uint64_t>(form.constant);
  for (const std::int64_t factor : form.factor) bits |= static_cast<std::uint64_t>(factor);
  return static_cast<unsigned>(std::countr_zero(bits));
}

unsigned width_of(Wide value) { return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(value))); }

Value at_most(Wide most) {
  Value out{.kind = Value::Kind::AtMost, .bits = 64};
  out.form.constant = most;
  return out;
}

}  // namespace

Value number(const Affine& form, unsigned bits) {
  return {.kind = Value::Kind::Number, .bits = static_cast<std::uint8_t>(bits), .form = reduce(form, bits)};
}

Value constant(Wide value, unsigned bits) {
  Affine form;
  form.constant = value;
  return number(form, bits);
}

std::optional<Affine> Arithmetic::exact(const Value& value, Type type) {
  if (!value.known() || value.bits < type.bits) return std::nullopt;
  const InRange found = value_in(reduce(value.form, type.bits), type.bits, type.is_signed, box_);
  if (found.boundary) cut = found.boundary;
  if (!found.value) return std::nullopt;
  for (const std::int64_t factor : found.value->factor)
    if (factor > kMostFactor || factor < -kMostFactor) return std::nullopt;
  return found.value;
}

std::optional<Wide> Arithmetic::single(const Value& value, Type type) {
  if (!value.known() || value.bits < type.bits || !value.form.is_constant(box_)) return std::nullopt;
  const auto found = exact(value, type);
  if (!found) return std::nullopt;
  return found->lowest(box_);
}

std::optional<Arithmetic::Interval> Arithmetic::range(const Value& value, Type type) {
  if (value.kind == Value::Kind::AtMost) {
    const unsigned bits = type.is_signed ? type.bits - 1u : type.bits;
    if (width_of(value.form.constant) > bits) return std::nullopt;
    return Interval{0, value.form.constant};
  }
  const auto form = exact(value, type);
  if (!form) return std::nullopt;
  return Interval{form->lowest(box_), form->highest(box_)};
}

std::optional<bool> Arithmetic::negative(const Affine& form) {
  if (form.highest(box_) < 0) return true;
  if (form.lowest(box_) >= 0) return false;
  cut = form;
  return std::nullopt;
}

Value Arithmetic::add(const Value& a, const Value& b, unsigned bits) {
  if (!a.known() || !b.known() || a.bits < bits || b.bits < bits) return {};
  return number(a.form + b.form, bits);
}

Value Arithmetic::subtract(const Value& a, const Value& b, unsigned bits) {
  if (!a.known() || !b.known() || a.bits < bits || b.bits < bits) return {};
  return number(a.form - b.form, bits);
}

Value Arithmetic::multiply(const Value& a, const Value& b, Type type, Half half) {
  const Value& varying = a.known() && a.form.is_constant(box_) ? b : a;
  const Value& fixed = &varying == &a ? b : a;
  const auto by = single(fixed, type);
  if (!by) return {};
  const std::int64_t factor = static_cast<std::int64_t>(*by);
  if (half == Half::Low) {
    if (!varying.known() || varying.bits < type.bits) return {};
    return {Value::Kind::Number, type.bits, streamsan::ptx::multiply(varying.form, factor, type.bits)};
  }
  if (type.bits > 32) {
    // A product of 128 bits: of two constants only.
    const auto other = single(varying, type);
    if (!other || half == Half::Both || type.is_signed) return {};
    __extension__ using Unsigned = unsigned __int128;
    return constant(static_cast<Wide>(static_cast<Unsigned>(*other) * static_cast<Unsigned>(*by) >> 64));
  }
  const auto form = exact(varying, type);
  if (!form) return {};
  Affine product;
  product.constant = form->constant * *by;
  for (std::size_t i = 0; i < kDimensions; ++i)
    if (__builtin_mul_overflow(form->factor[i], factor, &product.factor[i])) return {};
  if (half == Half::Both) return number(product, 2u * type.bits);
  const auto high = quotient(product, Wide{1} << type.bits);
  return high ? number(*high, type.bits) : Value{};
}

std::optional<Affine> Arithmetic::quotient(const Affine& form, Wide by) {
  // What divides evenly goes in front; only the rest has to be looked at.
  Affine even, rest;
  rest.constant = form.constant;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    if (form.factor[i] % by == 0)
      even.factor[i] = static_cast<std::int64_t>(form.factor[i] / by);
    else
      rest.factor[i] = form.factor[i];
  }
  const Wide first = floor_div(rest.lowest(box_), by);
  const Wide last = floor_div(rest.highest(box_), by);
  if (first == last) {
    even.constant = first;
    return even;
  }
  if (last - first > kMostQuotients) return std::nullopt;
  Affine middle = rest;
  middle.constant -= floor_div(first + last + 1, 2) * by;
  cut = middle;
  return std::nullopt;
}

Value Arithmetic::divide(const Value& a, const Value& b, Type type, bool remainder) {
  const auto by = single(b, type);
  if (!by || *by <= 0) return {};
  const auto form = exact(a, type);
  if (!form) return {};
  const auto below = negative(*form);
  if (!below) return {};
  // Division goes towards zero.
  Affine magnitude = *form;
  if (*below) magnitude = Affine{} - *form;
  auto result = quotient(magnitude, *by);
  if (!result) return {};
  if (*below) result = Affine{} - *result;
  const Value whole = number(*result, type.bits);
  if (!remainder) return whole;
  return number(*form - streamsan::ptx::multiply(whole.form, static_cast<std::int64_t>(*by), type.bits), type.bits);
}

Value Arithmetic::low_bits(const Value& a, unsigned bits, unsigned width) {
  // Only what is left modulo 2^bits counts, so the factors may be made small first.
  const Affine form = reduce(a.form, bits);
  const auto high = quotient(form, Wide{1} << bits);
  if (!high) return {};
  return number(form - streamsan::ptx::multiply(number(*high, 64).form, std::int64_t{1} << bits, 64), width);
}

Value Arithmetic::bit_and(const Value& a, const Value& b, unsigned bits) {
  const Value& masked = a.known() && a.form.is_constant(box_) ? b : a;
  const auto mask_value = single(&masked == &a ? b : a, unsigned_type(bits));
  if (!mask_value) return {};
  if (*mask_value == 0) return constant(0, bits);
  const std::uint64_t mask = static_cast<std::uint64_t>(*mask_value);
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  if (masked.kind == Value::Kind::AtMost) {
    const unsigned width = width_of(masked.form.constant);
    const std::uint64_t reach = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    return (mask & reach) == 0 ? constant(0, bits) : at_most(mask & reach);
  }
  if (!masked.known() || masked.bits < bits) return at_most(mask);
  if (const auto both = single(masked, unsigned_type(bits)))
    return constant(static_cast<std::uint64_t>(*both) & mask, bits);
  if (mask == all) return number(masked.form, bits);
  if ((mask & (mask + 1)) == 0) return low_bits(masked, static_cast<unsigned>(std::popcount(mask)), bits);
  const std::uint64_t cleared = ~mask & all;
  if ((cleared & (cleared + 1)) == 0) {
    const Value low = low_bits(masked, static_cast<unsigned>(std::popcount(cleared)), bits);
    return subtract(masked, low, bits);
  }
  return at_most(mask);
}

Value Arithmetic::bit_or(const Value& a, const Value& b, unsigned bits, bool exclusive) {
  const Type type = unsigned_type(bits);
  const auto left = single(a, type), right = single(b, type);
  if (left && right) {
    const auto x = static_cast<std::uint64_t>(*left), y = static_cast<std::uint64_t>(*right);
    return constant(exclusive ? x ^ y : x | y, bits);
  }
  if ((left && *left == 0) || (right && *right == 0)) return left && *left == 0 ? b : a;
  const Wide all = (Wide{1} << bits) - 1;
  if (exclusive && right && *right == all) return invert(a, bits);
  const auto low = range(a, type), high = range(b, type);
  if (cut) return {};
  if (!low || !high) return {};
  // No common bit: a sum.
  if (a.known() && b.known() &&
      (high->high < (Wide{1} << std::min(trailing_zeros(a.form), 63u)) ||
       low->high < (Wide{1} << std::min(trailing_zeros(b.form), 63u))))
    return add(a, b, bits);
  return at_most((Wide{1} << std::max(width_of(low->high), width_of(high->high))) - 1);
}

Value Arithmetic::invert(const Value& a, unsigned bits) {
  if (bits == 1) return subtract(constant(1), a, 1);
  return subtract(constant(-1), a, bits);
}

Value Arithmetic::shift(const Value& a, const Value& by, Type type, bool left) {
  const auto count = single(by, unsigned_type(32));
  if (!count) return {};
  if (left) {
    if (!a.known() || a.bits < type.bits) return {};
    if (*count >= type.bits) return constant(0, type.bits);
    const auto factor = static_cast<std::int64_t>(std::uint64_t{1} << static_cast<unsigned>(*count));
    return {Value::Kind::Number, type.bits, streamsan::ptx::multiply(a.form, factor, type.bits)};
  }
  if (*count >= type.bits && !type.is_signed) return constant(0, type.bits);
  const auto form = exact(a, type);
  if (!form) return {};
  const auto result = quotient(*form, Wide{1} << static_cast<unsigned>(std::min<Wide>(*count, type.bits - 1)));
  return result ? number(*result, type.bits) : Value{};
}

Value Arithmetic::extract(const Value& a, const Value& position, const Value& length, Type type) {
  const auto from = single(position, unsigned_type(32)), count = single(length, unsigned_type(32));
  if (type.is_signed || !from || !count || *from >= type.bits || *count <= 0 || *count >= type.bits) return {};
  const Value shifted = shift(a, position, type, false);
  if (!shifted.known()) return {};
  return bit_and(shifted, constant((Wide{1} << static_cast<unsigned>(*count)) - 1), type.bits);
}

Value Arithmetic::insert(const Value& a, const Value& into, const Value& position, const Value& length, unsigned bits) {
  const auto from = single(position, unsigned_type(32)), count = single(length, unsigned_type(32));
  if (!from || !count || *from < 0 || *count <= 0 || *from + *count > bits) return {};
  if (!a.known() || !into.known() || a.bits < bits || into.bits < bits) return {};
  const auto start = static_cast<unsigned>(*from), end = start + static_cast<unsigned>(*count);
  const Value below = start == 0 ? constant(0, bits) : low_bits(into, start, bits);
  if (cut) return {};
  // To the upper end of the register, nothing is left of it above, and what is too much of `a` falls off.
  const Value under_end = end == bits ? into : low_bits(into, end, bits);
  if (cut) return {};
  const Value inserted = end == bits ? a : low_bits(a, static_cast<unsigned>(*count), bits);
  if (cut || !below.known() || !under_end.known() || !inserted.known()) return {};
  return add(add(subtract(into, under_end, bits), below, bits), shift(inserted, position, unsigned_type(bits), true),
             bits);
}

Value Arithmetic::extreme(const Value& a, const Value& b, Type type, bool largest) {
  const auto left = exact(a, type), right = left ? exact(b, type) : std::nullopt;
  if (!left || !right) return {};
  const auto smaller = negative(*left - *right);
  if (!smaller) return {};
  return number(*smaller != largest ? *left : *right, type.bits);
}

Value Arithmetic::absolute(const Value& a, Type type) {
  const auto form = exact(a, type);
  if (!form) return {};
  const auto below = negative(*form);
  if (!below) return {};
  return number(*below ? Affine{} - *form : *form, type.bits);
}

Value Arithmetic::convert(const Value& a, Type to, Type from, bool saturates) {
  if (!to.is_integer || !from.is_integer || saturates) return {};
  if (a.kind == Value::Kind::AtMost) {
    const auto all = range(a, from);
    return all && width_of(all->high) < to.bits ? a : Value{};
  }
  if (!a.known() || a.bits < from.bits) return {};
  if (to.bits <= from.bits) return number(a.form, to.bits);
  const auto form = exact(a, from);
  return form ? number(*form, to.bits) : Value{};
}

Value Arithmetic::compare(const Value& a, const Value& b, Type type, Compare how) {
  const auto left = range(a, type);
  if (!left) return {};
  const auto right = range(b, type);
  if (!right) return {};
  const Wide low = left->low - right->high, high = left->high - right->low;  // of a - b
  const auto answer = [](bool yes) { return constant(yes ? 1 : 0); };
  switch (how) {
    case Compare::Lt:
    case Compare::Ge:
      if (high < 0 || low >= 0) return answer((high < 0) == (how == Compare::Lt));
      break;
    case Compare::Le:
    case Compare::Gt:
      if (high <= 0 || low > 0) return answer((high <= 0) == (how == Compare::Le));
      break;
    case Compare::Eq:
    case Compare::Ne:
      if (high < 0 || low > 0) return answer(how == Compare::Ne);
      if (high == 0 && low == 0) return answer(how == Compare::Eq);
      break;
    case Compare::None:
      return {};
  }
  if (!a.known() || !b.known()) return {};
  const auto x = exact(a, type), y = exact(b, type);
  if (!x || !y) return {};
  Affine difference = *x - *y;
  // The ranges of both may meet although their difference is decided: then there is nothing to cut.
  const Wide least = difference.lowest(box_), most = difference.highest(box_);
  const bool or_equal = how == Compare::Le || how == Compare::Gt;
  if (how == Compare::Eq || how == Compare::Ne) {
    if (most < 0 || least > 0) return answer(how == Compare::Ne);
    if (most == 0 && least == 0) return answer(how == Compare::Eq);
    if (least >= 0) difference.constant -= 1;
    cut = difference;
    return {};
  }
  if (or_equal) difference.constant -= 1;
  const auto below = negative(difference);
  if (!below) return {};
  return answer(*below == (how == Compare::Lt || how == Compare::Le));
}

}  // namespace streamsan::ptx

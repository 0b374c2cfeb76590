// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds as values: their sums and products, and what all accesses to one memory have in common. device_bounds.h
// explains it.
#include <algorithm>
#include <utility>

#include "analyzer/lowering/device_bounds.h"

namespace streamsan::analyzer::device {

Bound constant_bound(std::int64_t number) { return {.number = number, .fixed = true}; }
Bound moved_bound() { return {.few = false, .elsewhere = true}; }

MaybeBound plus(const MaybeBound& a, const MaybeBound& b) {
  if ((a && a->elsewhere) || (b && b->elsewhere)) return moved_bound();
  if (!a || !b || a->spread || b->spread) return std::nullopt;
  Bound sum;
  sum.single = a->single || b->single;
  sum.fixed = a->fixed && b->fixed;
  if (a->number && b->number) {
    sum.number = *a->number + *b->number;
    sum.few = a->few && b->few;
    return sum;
  }
  sum.parameters = a->parameters;
  sum.parameters.insert(b->parameters.begin(), b->parameters.end());
  sum.few = (a->number == 0 || a->few) && (b->number == 0 || b->few);
  const auto more = [](const Bound& bound) { return bound.shifted || (bound.number && *bound.number > 0); };
  sum.shifted = more(*a) || more(*b);
  const Bound& variable = a->number ? *b : *a;
  const Bound& other = a->number ? *a : *b;
  if (variable.plain && other.number && (other.fixed || *other.number == 0)) {
    sum.plain = true;
    sum.loose = variable.loose || !other.fixed;
    sum.scale = variable.scale;
    sum.shift = variable.shift + *other.number;
  }
  return sum;
}

MaybeBound times(const MaybeBound& a, const MaybeBound& b) {
  // Nothing is less than 0, so 0 times anything begins at 0.
  for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}})
    if (*one && (*one)->number == 0) {
      Bound zero{.number = 0};
      zero.single = (*one)->single || (*other && (*other)->single);
      zero.fixed = (*one)->fixed;
      return zero;
    }
  if (!a || !b || a->spread || b->spread) return std::nullopt;
  // So many rows, and which one is not known, are as little as nothing.
  if (a->elsewhere || b->elsewhere) {
    const bool many = (a->elsewhere || a->number) && (b->elsewhere || b->number);
    return many ? MaybeBound(moved_bound()) : std::nullopt;
  }
  Bound product;
  product.single = a->single || b->single;
  product.fixed = a->fixed && b->fixed;
  if (a->number && b->number) {
    product.number = *a->number * *b->number;
    product.few = a->few && b->few;
    return product;
  }
  product.parameters = a->parameters;
  product.parameters.insert(b->parameters.begin(), b->parameters.end());
  const Bound& variable = a->number ? *b : *a;
  const Bound& other = a->number ? *a : *b;
  // A bound that constants gave, times a parameter, is so many rows; a constant times an offset is an offset.
  product.few = other.number && !other.fixed ? other.few : variable.few && other.few;
  product.shifted = variable.shifted || other.shifted;
  if (variable.plain && other.fixed && other.number) {
    product.plain = true;
    product.loose = variable.loose;
    product.scale = variable.scale * *other.number;
    product.shift = variable.shift * *other.number;
  }
  return product;
}

bool leaves_begin(const MaybeBound& bytes) {
  if (!bytes || bytes->spread) return false;
  if (bytes->elsewhere || (bytes->number && *bytes->number != 0)) return true;
  return !bytes->number && !bytes->parameters.empty();
}

void Begin::add(const MaybeBound& bytes, const Choices& under) {
  all_.add(bytes);
  if (bytes) known_.add(bytes);
  if (bytes && bytes->number == 0) {
    fronts_.insert(under);
    return;
  }
  if (!rest_.any) {
    others_ = under;
  } else {
    std::erase_if(others_, [&](const auto& choice) { return !under.contains(choice); });
  }
  rest_.add(bytes);
}

const MaybeBound& Begin::bound() const {
  const auto reached = [this](const Choices& under) { return std::ranges::includes(others_, under); };
  const bool perhaps = !fronts_.empty() && leaves_begin(rest_.bound) && std::ranges::none_of(fronts_, reached);
  return perhaps ? rest_.bound : all_.bound;
}

void Begin::Sum::add(const MaybeBound& bytes) {
  constexpr std::int64_t kWidestMargin = 128;
  const bool first = !std::exchange(any, true);
  const auto one_spot = [](const MaybeBound& of) { return of && (of->single || of->fixed); };
  const bool was_at_begin = bound && bound->number == 0, is_at_begin = bytes && bytes->number == 0;
  lost |= !bytes;
  far |= leaves_begin(bytes) && !one_spot(bytes) && !(bytes->number && *bytes->number <= kWidestMargin);
  // What begins at the pointer begins there whatever else is touched.
  const bool mixed = !first && one_spot(bound) != one_spot(bytes);
  front = front || (is_at_begin && !one_spot(bytes)) || (mixed && (was_at_begin || is_at_begin));
  if (front) {
    bound = Bound{.number = 0};
  } else if (lost && far) {
    // One of them is meant to be elsewhere, so that the other may be, too.
    bound = moved_bound();
  } else if (mixed && bound && bytes && bound->number && bytes->number) {
    bound = Bound{.number = std::min(*bound->number, *bytes->number), .few = bound->few && bytes->few};
  } else if (first || mixed || !bytes) {
    // An inside and a margin may be all.
    bound = mixed ? std::nullopt : bytes;
  } else if (bound) {
    add_to_known(*bytes);
  }
}

/// Both are one spot, or none is.
void Begin::Sum::add_to_known(const Bound& bytes) {
  if (*bound == bytes) return;
  if (bound->spread || bytes.spread) {
    bound = std::nullopt;
    return;
  }
  if (bound->elsewhere || bytes.elsewhere) {
    bound = moved_bound();
    return;
  }
  const bool is_single = bytes.single || bytes.fixed;
  // Elements of one row (`p[i]`, `p[i + 256]`): it begins at the first of them.
  if (bound->plain && bytes.plain && bound->parameters == bytes.parameters && bound->scale == bytes.scale) {
    Bound lower = bound->shift <= bytes.shift ? *bound : bytes;
    lower.few = bound->few && bytes.few;
    lower.loose = true;
    bound = lower;
    return;
  }
  Bound both;
  both.single = is_single;
  both.few = bound->few && bytes.few;
  both.shifted = bound->shifted || bytes.shifted;
  if (bound->number && bytes.number) {
    both.number = std::min(*bound->number, *bytes.number);
  } else if (is_single) {
    both.number = bound->number ? bound->number : bytes.number;
  } else if (bound->number == 0 || bytes.number == 0) {
    both.number = 0;
  }
  if (!both.number) {
    both.parameters = bound->parameters;
    both.parameters.insert(bytes.parameters.begin(), bytes.parameters.end());
  }
  bound = both;
}

ir::Part part_of(const Begin& begin) {
  using Kind = ir::Part::Kind;
  const MaybeBound& bound = begin.bound();
  const ir::Part unknown{.kind = Kind::Unknown};
  if (!bound || bound->spread) return unknown;
  if (bound->elsewhere) return {.kind = Kind::From};
  if (bound->single || bound->fixed) {
    const bool known = bound->number && *bound->number >= 0;
    return {.kind = Kind::Single, .bytes = known ? bound->number : std::nullopt};
  }
  if (bound->number == 0) return {};
  if (bound->number) return *bound->number > 0 ? ir::Part{.kind = Kind::Inside, .bytes = bound->number} : unknown;
  if (bound->few) return {.kind = Kind::Inside};
  ir::Part from{.kind = Kind::From};
  for (const unsigned position : bound->parameters) {
    if (position >= 32) return unknown;
    from.arguments |= 1U << position;
  }
  if (bound->shifted) from.bytes = 1;
  return from.arguments == 0 ? unknown : from;
}

}  // namespace streamsan::analyzer::device

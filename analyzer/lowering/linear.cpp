// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of numbers.
//
// A symbol is a component of threadIdx or blockIdx, the counter of a loop, or several of these that together run
// through one range without gaps. A condition narrows the range of one symbol. What holds of two that are made of the
// same thread index at once is not worked out: then nothing is certain.
#include "analyzer/lowering/linear.h"

#include <algorithm>
#include <cstdlib>

namespace streamsan::analyzer::device {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 52;  ///< beyond, nothing is known

__extension__ using Wide = __int128;

bool holds_at(Wide value, Space::Sign sign) {
  return sign == Space::Sign::Less ? value < 0 : sign == Space::Sign::LessOrEqual ? value <= 0 : value == 0;
}

}  // namespace

MaybeLinear sum(const MaybeLinear& a, const MaybeLinear& b, std::int64_t scale) {
  if (!a || !b) return std::nullopt;
  Linear result = *a;
  const auto add = [&](std::int64_t& to, std::int64_t added) {
    const Wide wide = static_cast<Wide>(added) * scale + to;
    to = static_cast<std::int64_t>(wide);
    return wide < kMost && wide > -kMost;
  };
  if (!add(result.constant, b->constant)) return std::nullopt;
  for (const auto& [symbol, factor] : b->terms)
    if (!add(result.terms[symbol], factor)) return std::nullopt;
  std::erase_if(result.terms, [](const auto& term) { return term.second == 0; });
  return result;
}

MaybeLinear product(const MaybeLinear& a, const MaybeLinear& b) {
  if (!a || !b) return std::nullopt;
  if (!b->terms.empty()) return a->terms.empty() ? product(b, a) : std::nullopt;
  return sum(Linear{}, a, b->constant);
}

Linear Space::run_through(std::int64_t first, std::int64_t count) {
  if (count == 1) return {.constant = first, .terms = {}};
  const auto number = static_cast<unsigned>(symbols_.size());
  return {.constant = 0, .terms = {{add({.first = first, .count = count, .atoms = {number}, .meaning = {}}), 1}}};
}

unsigned Space::add(Symbol symbol) {
  symbol.whole_first = symbol.first;
  symbol.whole_count = symbol.count;
  symbols_.push_back(std::move(symbol));
  return static_cast<unsigned>(symbols_.size() - 1);
}

void Space::drop_conditions(const Space& before) {
  std::ranges::copy(before.symbols_, symbols_.begin());
  for (std::size_t i = before.symbols_.size(); i < symbols_.size(); ++i) {
    symbols_[i].first = symbols_[i].whole_first;
    symbols_[i].count = symbols_[i].whole_count;
    symbols_[i].narrowed = false;
  }
}

bool Space::shares(const Symbol& a, const Symbol& b) const {
  return std::ranges::any_of(a.atoms, [&](unsigned atom) { return b.atoms.contains(atom); });
}

/// Into symbols that there are: a multiple of what each of them means.
Linear Space::folded(Linear number) {
  for (unsigned i = 0; i < symbols_.size(); ++i) {
    const Linear& meaning = symbols_[i].meaning;
    if (meaning.terms.empty()) continue;
    const auto& [first, factor] = *meaning.terms.begin();
    const auto mine = number.terms.find(first);
    if (mine == number.terms.end() || mine->second % factor != 0) continue;
    const std::int64_t times = mine->second / factor;
    const bool all = std::ranges::all_of(meaning.terms, [&](const auto& term) {
      const auto same = number.terms.find(term.first);
      return same != number.terms.end() && same->second == times * term.second;
    });
    if (!all) continue;
    const MaybeLinear rest = sum(sum(number, meaning, -times), Linear{.constant = 0, .terms = {{i, 1}}}, times);
    if (rest) number = *rest;
  }
  put_together(number);
  return number;
}

/// Makes a symbol of several that run through a range without gaps.
void Space::put_together(Linear& number) {
  if (number.terms.size() < 2) return;
  std::vector<std::pair<std::int64_t, unsigned>> by_factor;
  for (const auto& [symbol, factor] : number.terms) by_factor.emplace_back(factor, symbol);
  std::ranges::sort(by_factor);
  const std::int64_t unit = by_factor.front().first;
  if (unit <= 0) return;
  Symbol made{.count = 1};
  for (const auto& [factor, symbol] : by_factor) {
    const Symbol& part = symbols_[symbol];
    if (part.narrowed || part.first != 0 || shares(made, part) || made.count > kMost / part.count ||
        factor % unit != 0 || factor / unit != made.count)
      return;
    made.count *= part.count;
    made.atoms.insert(part.atoms.begin(), part.atoms.end());
    made.meaning.terms[symbol] = factor / unit;
  }
  number.terms = {{add(std::move(made)), unit}};
}

std::optional<Linear> Space::strided(const Linear& number, std::int64_t step, std::int64_t end) {
  if (number.terms.size() != 1 || number.terms.begin()->second != 1) return std::nullopt;
  const Symbol& of = symbols_[number.terms.begin()->first];
  if (of.narrowed || of.first != 0 || of.count != step || end <= number.constant) return std::nullopt;
  // With fewer rounds than threads some of them do not get there.
  const std::int64_t count = end - number.constant;
  const unsigned made = add({.first = 0, .count = count, .atoms = of.atoms, .meaning = {}, .narrowed = count < step});
  return Linear{.constant = number.constant, .terms = {{made, 1}}};
}

std::int64_t Space::least(const Linear& number) const {
  Wide result = number.constant;
  for (const auto& [symbol, factor] : number.terms) {
    const Symbol& of = symbols_[symbol];
    result += static_cast<Wide>(factor) * (factor > 0 ? of.first : of.first + of.count - 1);
  }
  return static_cast<std::int64_t>(std::clamp<Wide>(result, -kMost, kMost));
}
std::int64_t Space::most(const Linear& number) const {
  const MaybeLinear negative = sum(Linear{}, number, -1);
  return negative ? -least(*negative) : kMost;
}

Space::Held Space::assume(const Linear& number, Sign sign, bool holds) {
  const Wide least = this->least(number), most = this->most(number);
  const auto at = [&](Wide value) { return holds_at(value, sign) == holds; };
  if (sign == Sign::Equal ? least > 0 || most < 0 : holds_at(least, sign) == holds_at(most, sign))
    return at(least) ? Held::Always : Held::Never;
  if (least == most) return at(least) ? Held::Always : Held::Never;
  if (number.terms.size() != 1) return Held::Unknown;
  const auto [symbol, factor] = *number.terms.begin();
  Symbol& of = symbols_[symbol];
  const std::int64_t last = of.first + of.count - 1;
  const auto value = [&, by = factor](std::int64_t each) { return static_cast<Wide>(by) * each + number.constant; };
  std::int64_t first = of.first, end = last + 1;
  if (sign == Sign::Equal) {
    const std::int64_t root = -number.constant / factor;
    const bool there = value(root) == 0 && root >= of.first && root <= last;
    if (!there) return holds ? Held::Never : Held::Always;
    if (holds) {
      first = root;
      end = root + 1;
    } else if (root == of.first) {
      first = root + 1;
    } else if (root == last) {
      end = root;
    } else {
      return Held::Unknown;  // two parts are left
    }
  } else {
    // It changes once: where?
    const bool at_first = at(value(of.first));
    std::int64_t low = of.first, high = last;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (at(value(middle)) == at_first ? low : high) = middle;
    }
    (at_first ? end : first) = high;
  }
  of.first = first;
  of.count = end - first;
  of.narrowed = true;
  return Held::Sometimes;
}

bool Space::are_free(const Linear& number) const {
  std::vector<const Symbol*> narrowed;
  for (const Symbol& each : symbols_) {
    if (!each.narrowed) continue;
    if (std::ranges::any_of(narrowed, [&](const Symbol* other) { return shares(each, *other); })) return false;
    narrowed.push_back(&each);
  }
  for (auto one = number.terms.begin(); one != number.terms.end(); ++one) {
    const Symbol& mine = symbols_[one->first];
    for (const Symbol* other : narrowed)
      if (other != &mine && shares(mine, *other)) return false;
    for (auto other = std::next(one); other != number.terms.end(); ++other)
      if (shares(mine, symbols_[other->first])) return false;
  }
  return true;
}

/// Rows, and slices of rows; of what is more than that, the first.
std::optional<ordering::Footprint> Space::bytes(const Linear& address, std::uint64_t width) const {
  if (!are_free(address)) return std::nullopt;
  const std::int64_t base = least(address);
  if (base <= 0 || base == kMost || most(address) == kMost) return std::nullopt;
  ordering::Footprint result{.base = static_cast<std::uint64_t>(base), .width = width};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;  // how far, how many
  for (const auto& [symbol, factor] : address.terms)
    steps.emplace_back(std::abs(factor), static_cast<std::uint64_t>(symbols_[symbol].count));
  std::ranges::sort(steps);
  for (const auto& [step, count] : steps) {
    if (count == 1) continue;
    if (result.rows == 1 && step <= result.width) {
      result.width += step * (count - 1);
    } else if (result.rows == 1) {
      result.pitch = step;
      result.rows = count;
    } else if (result.slices == 1 && step == result.pitch * result.rows) {
      result.rows *= count;
    } else if (result.slices == 1 && step > result.pitch * (result.rows - 1) + result.width) {
      result.slice_pitch = step;
      result.slices = count;
    }
  }
  return result;
}

}  // namespace streamsan::analyzer::device

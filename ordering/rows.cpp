// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See rows.h. Everything below a pattern's end fits in 62 bits, so sums and differences of two do in a signed number;
// only the products in first_step() need more.
#include "ordering/rows.h"

#include <algorithm>
#include <utility>

namespace streamsan::ordering {
namespace {

using Signed = std::int64_t;
__extension__ using Wide = unsigned __int128;

Signed as_signed(std::uint64_t number) { return static_cast<Signed>(number); }

/// a / b, rounded up; b > 0.
Signed ceiling(Signed a, Signed b) { return a / b + (a % b > 0 ? 1 : 0); }
Signed floor(Signed a, Signed b) { return a / b - (a % b < 0 ? 1 : 0); }

Meeting meet_at(Range first, Range second) { return {first, second, intersection(first, second)}; }

/// The smallest x >= 0 with low <= step * x mod modulus <= high, for 0 <= low <= high < modulus and step < modulus.
/// If no multiple of the step itself lies there, it must be reached by some that went around: the same question about
/// how far each turn falls short, with smaller numbers.
std::optional<std::uint64_t> first_step(std::uint64_t step, std::uint64_t modulus, std::uint64_t low,
                                        std::uint64_t high) {
  if (low == 0) return 0;
  if (step == 0) return std::nullopt;
  const std::uint64_t straight = (low + step - 1) / step;
  if (Wide{straight} * step <= high) return straight;
  const std::optional<std::uint64_t> turns = first_step(modulus % step, step, step - high % step, step - low % step);
  if (!turns) return std::nullopt;
  return static_cast<std::uint64_t>((Wide{low} + Wide{modulus} * *turns + step - 1) / step);
}

/// One slice of the pattern.
Footprint slice_of(const Footprint& f, std::uint64_t slice) {
  return {f.base + slice * f.slice_pitch, f.width, f.pitch, f.rows, 1, 0};
}

/// Numbers [first, last] of the steps for which [base + step * pitch, + length) has bytes in the range; none: first >
/// last.
struct Steps {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
};
Steps steps_in(Address base, Bytes pitch, std::uint64_t count, Bytes length, Range range) {
  if (range.end <= base) return {};
  Steps steps{0, count - 1};
  if (range.begin >= base + length) {
    if (pitch == 0) return {};
    steps.first = (range.begin - base - length) / pitch + 1;
  }
  if (pitch > 0) steps.last = std::min(steps.last, (range.end - 1 - base) / pitch);
  return steps;
}

/// As row_in(), of a pattern of one slice.
std::optional<Range> row_of_slice_in(const Footprint& f, Range range) {
  const Steps steps = steps_in(f.base, f.pitch, f.rows, f.width, range);
  if (steps.first > steps.last) return std::nullopt;
  return row_of(f, steps.first);
}

/// The difference of the row numbers of a row of a and a row of b that meet, of equal pitch, where b is `ahead` of a;
/// how many there are of each; nullopt: none meet.
std::optional<Signed> difference(Signed ahead, Bytes pitch, std::uint64_t a_rows, Bytes a_width, std::uint64_t b_rows,
                                 Bytes b_width) {
  // -a_width < difference * pitch - ahead < b_width
  const Signed lowest = std::max(ceiling(ahead - as_signed(a_width) + 1, as_signed(pitch)), -as_signed(b_rows - 1));
  if (lowest > as_signed(a_rows - 1)) return std::nullopt;
  return lowest * as_signed(pitch) - ahead < as_signed(b_width) ? std::optional(lowest) : std::nullopt;
}

std::optional<Meeting> meeting_of_rows(const Footprint& a, const Footprint& b) {
  if (b.rows == 1) {
    const Range second = row_of(b, 0);
    const std::optional<Range> first = row_of_slice_in(a, second);
    return first ? std::optional(meet_at(*first, second)) : std::nullopt;
  }
  if (a.rows == 1) {
    const Range first = row_of(a, 0);
    const std::optional<Range> second = row_of_slice_in(b, first);
    return second ? std::optional(meet_at(first, *second)) : std::nullopt;
  }
  if (a.pitch == b.pitch) {
    const std::optional<Signed> d =
        difference(as_signed(b.base) - as_signed(a.base), a.pitch, a.rows, a.width, b.rows, b.width);
    if (!d) return std::nullopt;
    const std::uint64_t row = static_cast<std::uint64_t>(std::max(*d, Signed{0}));
    return meet_at(row_of(a, row), row_of(b, static_cast<std::uint64_t>(as_signed(row) - *d)));
  }
  // Rows of a that have bytes in the hull of b meet a row of b exactly if their place modulo b's pitch says so: one
  // that would meet the row before b's first, or behind its last, and is in the hull, meets the first or the last, too.
  const Steps steps = steps_in(a.base, a.pitch, a.rows, a.width, hull(b));
  if (steps.first > steps.last) return std::nullopt;
  const Bytes reach = a.width + b.width - 2;  // one less than the places at which they meet
  std::uint64_t row = steps.first;
  if (reach + 1 < b.pitch) {
    const Bytes ahead = a.base + row * a.pitch + a.width - 1 + b.pitch - b.base % b.pitch;
    const Bytes place = ahead % b.pitch;  // of the row's last byte, from the begin of b's rows: meets at 0..reach
    if (place > reach) {
      const std::optional<std::uint64_t> step =
          first_step(a.pitch % b.pitch, b.pitch, b.pitch - place, b.pitch - place + reach);
      if (!step || *step > steps.last - row) return std::nullopt;
      row += *step;
    }
  }
  const Range first = row_of(a, row);
  const std::optional<Range> second = row_of_slice_in(b, first);
  return second ? std::optional(meet_at(first, *second)) : std::nullopt;
}

bool spend(std::uint64_t& budget) { return budget > 0 && --budget > 0; }

/// Of equal pitch and slice pitch: by the differences of the slice numbers, and then of the row numbers.
std::optional<Meeting> meeting_of_alike(const Footprint& a, const Footprint& b, std::uint64_t& budget) {
  const Signed ahead = as_signed(b.base) - as_signed(a.base);
  const Signed apart = as_signed(a.slice_pitch);
  const Signed a_length = as_signed((a.rows - 1) * a.pitch + a.width);
  const Signed b_length = as_signed((b.rows - 1) * b.pitch + b.width);
  const Signed lowest = std::max(ceiling(ahead - a_length + 1, apart), -as_signed(b.slices - 1));
  const Signed highest = std::min(floor(ahead + b_length - 1, apart), as_signed(a.slices - 1));
  for (Signed slices = lowest; slices <= highest; ++slices) {
    if (!spend(budget)) return std::nullopt;
    const std::optional<Signed> d = difference(ahead - slices * apart, a.pitch, a.rows, a.width, b.rows, b.width);
    if (!d) continue;
    const Signed slice = std::max(slices, Signed{0});
    const Signed row = std::max(*d, Signed{0});
    const auto place = [](Signed number) { return static_cast<std::uint64_t>(number); };
    return meet_at(row_of(slice_of(a, place(slice)), place(row)),
                   row_of(slice_of(b, place(slice - slices)), place(row - *d)));
  }
  return std::nullopt;
}

}  // namespace

bool lies_in(Range range, const Footprint& f) {
  Bytes rows = 0, slices = 0;
  Address end = f.base;
  return f.rows > 0 && f.slices > 0 && !__builtin_mul_overflow(f.rows - 1, f.pitch, &rows) &&
         !__builtin_mul_overflow(f.slices - 1, f.slice_pitch, &slices) && !__builtin_add_overflow(end, rows, &end) &&
         !__builtin_add_overflow(end, slices, &end) && !__builtin_add_overflow(end, f.width, &end) &&
         range.begin <= f.base && end <= range.end;
}

Footprint simplified(Footprint f) {
  if (f.rows > 1 && f.slices > 1 && f.slice_pitch < f.pitch) {
    std::swap(f.pitch, f.slice_pitch);
    std::swap(f.rows, f.slices);
  }
  if (f.slices > 1 && f.rows > 1 && f.slice_pitch == f.pitch * f.rows) {
    f.rows *= f.slices;
    f.slices = 1;
  }
  if (f.rows > 1 && f.pitch <= f.width) {
    f.width += f.pitch * (f.rows - 1);
    f.rows = 1;
  }
  if (f.slices > 1 && f.rows == 1) {
    f.pitch = f.slice_pitch;
    f.rows = f.slices;
    f.slices = 1;
    if (f.pitch <= f.width) {
      f.width += f.pitch * (f.rows - 1);
      f.rows = 1;
    }
  }
  if (f.rows == 1) f.pitch = 0;
  if (f.slices == 1) f.slice_pitch = 0;
  return f;
}

std::optional<Range> row_in(const Footprint& f, Range range) {
  if (range.empty()) return std::nullopt;
  const Bytes length = (f.rows - 1) * f.pitch + f.width;
  const Steps steps = steps_in(f.base, f.slice_pitch, f.slices, length, range);
  for (std::uint64_t slice = steps.first; slice <= steps.last; ++slice) {
    if (const std::optional<Range> row = row_of_slice_in(slice_of(f, slice), range)) return row;
  }
  return std::nullopt;
}

void add_rows_in(const Footprint& f, Range range, std::vector<Range>& runs, std::size_t most) {
  if (range.empty()) return;
  const Bytes length = (f.rows - 1) * f.pitch + f.width;
  const Steps slices = steps_in(f.base, f.slice_pitch, f.slices, length, range);
  for (std::uint64_t i = slices.first; i <= slices.last; ++i) {
    const Footprint slice = slice_of(f, i);
    const Steps rows = steps_in(slice.base, slice.pitch, slice.rows, slice.width, range);
    for (std::uint64_t row = rows.first; row <= rows.last; ++row) {
      if (runs.size() >= most) return;
      runs.push_back(intersection(row_of(slice, row), range));
    }
  }
}

std::optional<Meeting> meeting(const Footprint& a, const Footprint& b, std::uint64_t& budget) {
  if (!hull(a).overlaps(hull(b)) || !spend(budget)) return std::nullopt;
  if (a.slices == 1 && b.slices == 1) return meeting_of_rows(a, b);
  if (a.slices > 1 && b.slices > 1 && a.pitch == b.pitch && a.slice_pitch == b.slice_pitch) {
    return meeting_of_alike(a, b, budget);
  }
  const auto slices_in = [](const Footprint& f, Range range) {
    return steps_in(f.base, f.slice_pitch, f.slices, (f.rows - 1) * f.pitch + f.width, range);
  };
  const Steps of_a = slices_in(a, hull(b));
  for (std::uint64_t i = of_a.first; i <= of_a.last; ++i) {
    const Footprint slice = slice_of(a, i);
    const Steps of_b = slices_in(b, hull(slice));
    for (std::uint64_t j = of_b.first; j <= of_b.last; ++j) {
      if (!spend(budget)) return std::nullopt;
      if (std::optional<Meeting> met = meeting_of_rows(slice, slice_of(b, j))) return met;
    }
  }
  return std::nullopt;
}

}  // namespace streamsan::ordering

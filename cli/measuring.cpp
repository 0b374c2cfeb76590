// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/measuring.h"

#include <cstdio>

#include "report/text.h"

namespace streamsan::cli {
namespace {

constexpr std::chrono::seconds kTellEvery{2};
constexpr std::uint32_t kEarlierSince = 10;  // trace format

std::string seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

std::string in_processes(std::uint32_t count) {
  return "in " + std::to_string(count) + (count == 1 ? " process" : " processes");
}

std::string some_launches(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " launch" : " launches");
}

}  // namespace

Measuring Measuring::of(const trace::FileHeader& header) {
  Measuring out;
  if (header.version < 2) return out;
  auto mode = static_cast<trace::Footprints>(header.footprints.load(std::memory_order_relaxed));
  out.launches = header.measured.load(std::memory_order_relaxed);
  const bool inferred = mode == trace::Footprints::Inferred;
  if (header.version >= kEarlierSince) out.earlier = header.known_earlier.load(std::memory_order_relaxed);
  out.measuring = mode == trace::Footprints::Measured || out.launches ? 1 : 0;
  out.gave_up = inferred && out.launches ? 1 : 0;
  out.inferring = inferred && !out.launches ? 1 : 0;
  out.footprints = header.learned.load(std::memory_order_relaxed);
  out.time = std::chrono::nanoseconds(header.measuring_ns.load(std::memory_order_relaxed));
  return out;
}

Measuring& Measuring::operator+=(const Measuring& other) {
  measuring += other.measuring;
  gave_up += other.gave_up;
  inferring += other.inferring;
  launches += other.launches;
  earlier += other.earlier;
  footprints += other.footprints;
  time += other.time;
  return *this;
}

std::string Measuring::text() const {
  if (!measuring && !inferring) return {};
  if (!measuring) return "computed from their code, or inferred";
  return "measured" + (inferring ? " " + in_processes(measuring) : "") + ": " + some_launches(launches) + " in " +
         seconds(time) + (earlier ? ", " + std::to_string(earlier) + " known from earlier runs" : "") + ", " +
         report::counted(footprints, "distinct footprint") + (gave_up ? "; given up " + in_processes(gave_up) : "") +
         (inferring ? "; inferred " + in_processes(inferring) : "");
}

void MeasuringProgress::update(const std::string& trace, const Measuring& now) {
  if (now.launches == 0) return;
  std::lock_guard lock(mutex_);
  traces_[trace] = now;
  Measuring all;
  for (const auto& [name, each] : traces_) all += each;
  auto time = std::chrono::steady_clock::now();
  if (all.launches == reported_ || time - last_ < kTellEvery) return;
  last_ = time;
  reported_ = all.launches;
  say_("learning footprints: " + some_launches(all.launches) + " measured, " + seconds(all.time));
}

}  // namespace streamsan::cli

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hints_pieces.h"

#include <algorithm>

#include "judge/frames.h"
#include "report/text.h"

namespace streamsan::judge {

using trace::Kind;
using trace::Record;

void PieceHints::add(const Run& run, Tally& tally) {
  tally.copies += run.length;
  ++tally.runs;
  if (run.length > tally.longest) {
    tally.longest = run.length;
    tally.bytes = run.bytes;
  }
  tally.pitched |= run.dst_step != run.bytes || run.src_step != run.bytes;
}

void PieceHints::end(Run& run) {
  if (run.length >= kShortestRun) {
    std::uint32_t& index = by_site_[static_cast<std::uint64_t>(run.site)];
    if (index == 0) {
      tallies_.push_back({.site = run.site, .stream = run.life, .first = run.first});
      index = static_cast<std::uint32_t>(tallies_.size());
    }
    add(run, tallies_[index - 1]);
  }
  run.length = 0;
}

void PieceHints::copy(const Seen& seen) {
  const Record& record = seen.record();
  Run& run = runs_[record.thread];
  const auto& w = record.as<Kind::Copy>();
  const std::uint64_t dst = w.dst, src = w.src, bytes = w.width;
  const bool plain = w.shaped == 0 && dst != 0 && src != 0 && bytes <= kLargestPiece;
  if (!plain) return end(run);
  const ordering::SiteId site = site_of(seen);
  const ordering::StreamId stream = seen.judge.stream_of(record);
  // Addresses that fall make huge steps, which no two pieces have in common with a third by chance.
  const std::uint64_t dst_step = dst - run.dst, src_step = src - run.src;
  const auto forward = [bytes](std::uint64_t step) { return step >= bytes && step < std::uint64_t{1} << 40; };
  const bool alike = run.length != 0 && run.site == site && run.stream == stream && run.bytes == bytes &&
                     forward(dst_step) && forward(src_step) &&
                     (run.length == 1 || (run.dst_step == dst_step && run.src_step == src_step));
  if (!alike) {
    end(run);
    run.site = site;
    run.stream = stream;
    run.first = seen.first;
    run.bytes = bytes;
    if (const StreamLife* life = seen.judge.handles().life(stream)) run.life = *life;
  }
  run.dst_step = alike ? dst_step : 0;
  run.src_step = alike ? src_step : 0;
  run.dst = dst;
  run.src = src;
  ++run.length;
}

void PieceHints::observe(const Seen& seen) {
  const Record& record = seen.record();
  if (trace::is_definition(record.kind) || record.kind == Kind::CallEnd || record.kind > Kind::Init) return;
  if (record.kind == Kind::Copy && seen.made_operation()) return copy(seen);
  if (Run* run = runs_.find(record.thread)) end(*run);
}

std::vector<PieceHints::Tally> PieceHints::all() const {
  std::vector<Tally> out = tallies_;
  runs_.for_each([&](std::uint64_t, const Run& run) {
    if (run.length < kShortestRun) return;
    auto known = std::find_if(out.begin(), out.end(), [&run](const Tally& tally) { return tally.site == run.site; });
    if (known == out.end()) {
      known = out.insert(out.end(), {.site = run.site, .stream = run.life, .first = run.first});
    }
    add(run, *known);
  });
  return out;
}

void PieceHints::want(SiteReader& sites) const {
  for (const Tally& tally : all()) {
    if (tally.worth_telling()) sites.want(tally.site);
  }
}

void PieceHints::tell(SiteReader& sites, std::vector<HintText>& out) const {
  constexpr double kEach = 4;  // microseconds: 2.5 for an asynchronous copy, 6.4 for a synchronous one
  for (const Tally& tally : all()) {
    if (!tally.worth_telling()) continue;
    const bool runtime = !runtime_call(sites.stack(tally.site)).empty();
    HintText text;
    text.hazard = report::Hazard::CopyInPieces;
    text.microseconds = static_cast<double>(tally.copies - tally.runs) * kEach;
    text.message = std::to_string(tally.copies) + " small copies could be " + std::to_string(tally.runs) + ".";
    text.evidence = "they come in " + report::counted(tally.runs, "run") + ", the longest of " +
                    std::to_string(tally.longest) + " copies of " + bytes_text(tally.bytes) +
                    ": all of one size, at equal distances in source and destination, and without another call in "
                    "between. A copy costs some microseconds, however few its bytes.";
    text.fix = std::string("copy each run at once") +
               (tally.pitched ? (runtime ? ", where there are gaps by cudaMemcpy2D or cudaMemcpy2DAsync."
                                         : ", where there are gaps by cuMemcpy2D or cuMemcpy2DAsync.")
                              : ".");
    text.where.push_back({tally.site, tally.stream, tally.first});
    out.push_back(std::move(text));
  }
}

}  // namespace streamsan::judge

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/possible_words.h"

#include <string_view>

namespace streamsan::judge {
namespace {

using ordering::Access;
using ordering::AccessMode;
using ordering::Hazard;

/// " But <the kernel> <does>", " But <the one> and <the other> <do>": those of the two that `holds` is true of.
struct Doing {
  std::string_view does, they_do;
};
std::string but(const Hazard& hazard, const Nouns& nouns, bool Access::* holds, Doing doing) {
  const bool earlier = hazard.earlier.*holds, later = hazard.later.*holds;
  if (!earlier && !later) return {};
  if (earlier && later) return " But " + nouns.earlier + " and " + nouns.later + std::string(doing.they_do);
  return " But " + (later ? nouns.later : nouns.earlier) + std::string(doing.does);
}

std::string why_conditional(const Hazard& hazard, const Nouns& nouns) {
  return but(hazard, nouns, &Access::conditional,
             {" is in the body of a conditional node: whether it runs is decided on the device (R-GRF-27).",
              " are in bodies of conditional nodes: whether they run is decided on the device (R-GRF-27)."});
}

/// Nothing of a use after the free: no word brings back what was freed before the kernel was submitted.
std::string why_signalled(const Hazard& hazard, const Nouns& nouns) {
  if (hazard.kind == ordering::HazardKind::UseAfterFree) return {};
  return but(hazard, nouns, &Access::signalled,
             {" waits in a loop for a word that another kernel or the host stores, which may order the two unseen.",
              " wait in loops for words that another kernel or the host stores, which may order them unseen."});
}

/// What is not known about the bytes, and what would decide it.
std::string why_bytes_are_possible(const Hazard& hazard, bool measuring) {
  const auto either = [&](auto holds) { return holds(hazard.earlier) || holds(hazard.later); };
  if (either([](const Access& a) { return a.source == ordering::AccessSource::Host; }) &&
      either(ordering::may_signal)) {
    const bool stores = either([](const Access& a) { return a.signals; });
    return std::string(stores ? " The kernel's stores there" : " The kernel's atomic accesses") +
           " are atomic for the host, too (R-UM-11). If the host's access is atomic as well, this is deliberate "
           "synchronisation, not a race.";
  }
  if (!either([](const Access& a) { return ordering::evidence_of_bytes(a) != ordering::Evidence::Sure; })) {
    if (either([](const Access& a) { return is_at_most_possible(a); })) return {};
    return " The code of the kernel in front is not known: if it does not let the next one begin early, they do not "
           "meet.";
  }
  if (either([](const Access& a) { return a.bounded; })) {
    return " Which part of it a kernel touches through a texture or a surface is not seen; they may use disjoint "
           "parts.";
  }
  if (either([](const Access& a) { return !a.exact; })) {
    const std::string inferred =
        " What the kernels touch is inferred from their pointer arguments; they may use disjoint "
        "parts of the buffer.";
    if (either([](const Access& a) { return a.signalled; })) return inferred;
    return inferred + " " +
           (measuring ? "These launches were not measured, or not completely."
                      : "Measuring them would decide it (--footprints=measured).");
  }
  if (either([](const Access& a) { return ordering::evidence_of_bytes(a) == ordering::Evidence::Learned; })) {
    if (either([](const Access& a) { return a.signalled; })) return {};
    return " What the kernels touch was learned from earlier launches with the same arguments; a measurement was asked "
           "for, and the two did not meet again in measured launches before the end.";
  }
  return " The kernels touch too many separate places to keep them all: what is known is an upper bound, and they may "
         "use disjoint parts of it.";
}

}  // namespace

std::string why_possible(const Hazard& hazard, const Nouns& nouns) {
  return why_conditional(hazard, nouns) + why_signalled(hazard, nouns) +
         why_bytes_are_possible(hazard, nouns.measuring);
}

}  // namespace streamsan::judge

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two equations of dependents.h.
#include "ordering/dependents.h"

#include <algorithm>
#include <utility>

namespace streamsan::ordering {
namespace {

/// How the kernel in front may be running when the next one begins; nothing: it has published all it does.
std::optional<Running> front(Epoch epoch, Trigger trigger) {
  switch (trigger) {
    case Trigger::Unknown:
      return Running{epoch, Running::How::Perhaps};
    case Trigger::Never:
      return Running{epoch, Running::How::Latent, Rule::LCH_02a};
    case Trigger::Published:
      return std::nullopt;
    case Trigger::Last:
      return Running{epoch, Running::How::Latent, Rule::LCH_02b};
    case Trigger::Early:
      return Running{epoch, Running::How::Sure};
  }
  return std::nullopt;
}

}  // namespace

void Chain::dependent(const Kernel& kernel, const Dependence& dependence, Epoch known, Epoch assumed) {
  known = std::max(known, known_);
  assumed_ = std::max(assumed_, assumed);
  // One that triggers behind all that it touches has waited by then, if it does at all.
  const bool waits_after = dependence.front == Trigger::Early && !dependence.front_waits_first;
  std::vector<Running> began = waits_after ? began_ : ended_;
  if (const std::optional<Running> in_front = front(last_.epoch, dependence.front)) began.push_back(*in_front);
  std::erase_if(began, [known](const Running& each) { return each.epoch <= known; });
  if (began.size() > kMost) began.erase(began.begin());
  if (dependence.waits) {
    std::erase_if(ended_, [known](const Running& each) { return each.epoch <= known; });
  } else {
    ended_ = began;
  }
  began_ = std::move(began);
  last_ = kernel;
  end_ = kernel.epoch;
}

}  // namespace streamsan::ordering

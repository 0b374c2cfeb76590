// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/releases.h"

namespace streamsan::judge {

void Releases::add(ordering::StreamId owner, ordering::Moment use, std::uint32_t kept) {
  if (open_.size() >= kMost) open_.erase(open_.begin(), open_.begin() + kMost / 2);
  open_.push_back({owner, use, kept});
}

void Releases::acted(ordering::StreamId owner) {
  std::erase_if(open_, [owner](const Open& each) { return each.owner == owner; });
}

}  // namespace streamsan::judge

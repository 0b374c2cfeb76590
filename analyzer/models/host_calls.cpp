// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/models/host_calls.h"

#include <cctype>
#include <unordered_map>

namespace streamsan::analyzer {
namespace {

using Calls = std::unordered_map<std::string_view, HostCall>;

void add(Calls& to, HostCall what, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) to.emplace(name, what);
}

const Calls& table() {
  static const Calls calls = [] {
    Calls out;
#define SS_HOST_CALL(what_, ...) add(out, HostCall::what_, {__VA_ARGS__});
#include "analyzer/models/host_calls.def"
#undef SS_HOST_CALL
    return out;
  }();
  return calls;
}

bool is_driver_name(std::string_view name) {
  return name.starts_with("cu") && name.size() > 2 && std::isupper(static_cast<unsigned char>(name[2])) != 0;
}

}  // namespace

HostCall host_call(std::string_view name) {
  if (is_driver_name(name)) {
    for (const std::string_view version : {"_ptsz", "_ptds", "_v2", "_v3"})
      if (name.ends_with(version)) name.remove_suffix(version.size());
  }
  const auto found = table().find(name);
  return found == table().end() ? HostCall::None : found->second;
}

bool is_cuda_name(std::string_view name) {
  return name.starts_with("cuda") || name.starts_with("hip") || is_driver_name(name);
}

MessageCall message_call(std::string_view name) {
  if (name.starts_with("ucp_")) return MessageCall::Ucx;
  if (name.starts_with("PMPI_")) name.remove_prefix(1);  // the same function, for tools
  if (!name.starts_with("MPI_")) return MessageCall::None;
  if (name == "MPI_Comm_rank") return MessageCall::MpiRank;
  return name == "MPI_Comm_size" ? MessageCall::MpiRanks : MessageCall::Mpi;
}

bool chooses_device(std::string_view function) { return function.ends_with("SetDevice"); }

bool guards_device(std::string_view record) { return record.ends_with("Guard"); }

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages between processes (MPI). The library knows no stream: what the GPU is to have written must be complete when a
// send is called, and what a receive writes must no longer be in use. So each is a touch of the host's, at the call. How
// many bytes an element has is not asked: the first of them is touched, by which sides meet that begin at one place.
#include "analyzer/interpreter/cuda.h"
#include "analyzer/models/model.h"

namespace streamsan::analyzer::interpreter {

bool Cuda::message(Machine& machine, const Model* model, std::string_view name, const Arguments& arguments) {
  if (!name.starts_with("MPI_") && !name.starts_with("PMPI_")) return false;
  if (name.ends_with("_Comm_rank") || name.ends_with("_Comm_size")) {
    machine.store(arguments.word(1), name.ends_with("_rank") ? 0 : 2, 4);
    return true;
  }
  if (model == nullptr || (model->action != ActionKind::HostTouch && model->action != ActionKind::Post)) return true;
  machine.event();
  // Nothing is sent to nobody, and no elements are.
  const bool to_one = name.find("end") != std::string_view::npos || name.find("ecv") != std::string_view::npos;
  const bool to_nobody =
      to_one && name.find("endrecv") == std::string_view::npos && static_cast<std::int32_t>(arguments.word32(3)) < 0;
  if (to_nobody || (to_one && arguments.word32(1) == 0)) return true;
  for (const Role& role : model->roles) {
    if (role.argument < 0 || (role.mode != ir::Mode::Read && role.mode != ir::Mode::Write)) continue;
    const Word at = arguments.word(static_cast<std::size_t>(role.argument));
    if (!Memory::is_device(at) && !machine.memory().is_pinned(at)) continue;
    model_.host_access(now(machine, std::string(name)), {at, at + 1},
                       role.mode == ir::Mode::Read ? ordering::AccessMode::Read : ordering::AccessMode::Write);
    finish();
  }
  return true;
}

}  // namespace streamsan::analyzer::interpreter

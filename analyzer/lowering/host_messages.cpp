// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of a message-passing library that return before they are done.
//
// MPI_Irecv(buffer, ..., &request) lets the library write the buffer until MPI_Wait(&request) has returned, beside
// whatever the device does; the library knows no stream. So each such call works on a lane of its own, which only the
// host can wait for. The lane is kept beside the variable that holds the request, in `$request`. A wait for a copy of
// the request is one for a lane that is not known, which may be any. A request whose variable is not known has a lane
// that only a wait for all completes.
#include "analyzer/lowering/host_messages.h"

#include <utility>

#include "analyzer/ir/hidden.h"
#include "analyzer/lowering/host_arguments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_parts.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;

Messages::Messages(const Parts& parts) : out_(parts.out), arguments_(parts.arguments) {}

ir::PlaceId Messages::request(const Call& call, int position) {
  const ir::PlaceId variable = position < 0 ? ir::kNoPlace : arguments_.target_at(call, position);
  if (variable == ir::kNoPlace) return ir::kNoPlace;
  const TypeKind of = out_.kind(variable);
  if (of != TypeKind::Pointer && of != TypeKind::Integer) return ir::kNoPlace;
  return out_.field(variable, ir::name(ir::Hidden::Request), "", TypeKind::Stream);
}

void Messages::post(const Call& call) {
  arguments_.host_touch(call);
  ir::PlaceId lane = request(call, call.model->value_argument);
  if (lane == ir::kNoPlace) lane = out_.temporary(TypeKind::Stream);
  out_.emit_fresh(lane, call.site);
  ir::Op op = start(OpKind::Post, call);
  op.stream = value(lane);
  arguments_.add_roles(call, op, 0);
  out_.emit(std::move(op));
}

void Messages::complete(const Call& call) {
  const ir::PlaceId lane = request(call, call.model->value_argument);
  ir::Op op = start(OpKind::Complete, call);
  op.stream = lane == ir::kNoPlace ? unknown() : value(lane);
  out_.emit(std::move(op));
}

}  // namespace streamsan::analyzer::host

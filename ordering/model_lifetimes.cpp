// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ordering/model_impl.h"

namespace streamsan::ordering {

void Model::host_free(Call, Range) {}
AllocationId Model::block_allocate(Call, std::optional<StreamId>, Range) { return {}; }
void Model::block_free(Call, std::optional<StreamId>, Address) {}
void Model::block_use(Call, StreamId, Address) {}
std::optional<StreamId> Model::block_stream(Address) const { return std::nullopt; }
void Model::signal(Call, std::optional<StreamId>, std::uint64_t) {}
void Model::await(Call, std::optional<StreamId>, std::uint64_t) {}

}  // namespace streamsan::ordering

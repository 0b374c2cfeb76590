// Ragged mini-batches of molecules: per-batch index tables are assembled on the host.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CachingHostAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace molnet {

struct Molecule {
  std::vector<int64_t> bonds_from;
  std::vector<int64_t> bonds_to;
  int64_t atoms = 0;
};

struct DeviceBatch {
  at::Tensor atom_offsets;
  at::Tensor from;
  at::Tensor to;
};

class TableUploader {
 public:
  explicit TableUploader(c10::Device device) : device_(device) {}

  template <typename Fill>
  at::Tensor upload(int64_t n, Fill&& fill) const {
    at::Tensor staging = at::empty({n}, at::TensorOptions().dtype(at::kLong).pinned_memory(true));
    fill(staging.mutable_data_ptr<int64_t>());
    return to_device(staging);
  }

 private:
  at::Tensor to_device(const at::Tensor& staging) const {
    auto stream = at::cuda::getCurrentCUDAStream(device_.index());
    at::Tensor out = at::empty(staging.sizes(), staging.options().device(device_).pinned_memory(false));
    C10_CUDA_CHECK(cudaMemcpyAsync(out.mutable_data_ptr(), staging.const_data_ptr(), staging.nbytes(),
                                   cudaMemcpyHostToDevice, stream));
    return out;
  }

  c10::Device device_;
};

class Collator {
 public:
  explicit Collator(c10::Device device) : uploader_(device) {}

  DeviceBatch collate(const std::vector<Molecule>& mols) const {
    int64_t bonds = 0;
    for (const auto& m : mols) bonds += static_cast<int64_t>(m.bonds_from.size());

    DeviceBatch b;
    b.atom_offsets = uploader_.upload(static_cast<int64_t>(mols.size()) + 1, [&](int64_t* p) {
      p[0] = 0;
      for (size_t i = 0; i < mols.size(); ++i) p[i + 1] = p[i] + mols[i].atoms;
    });
    b.from = uploader_.upload(bonds, [&](int64_t* p) { flatten(mols, &Molecule::bonds_from, p); });
    b.to = uploader_.upload(bonds, [&](int64_t* p) { flatten(mols, &Molecule::bonds_to, p); });
    return b;
  }

 private:
  static void flatten(const std::vector<Molecule>& mols, std::vector<int64_t> Molecule::* member, int64_t* out) {
    int64_t base = 0;
    for (const auto& m : mols) {
      for (int64_t v : m.*member) *out++ = base + v;
      base += m.atoms;
    }
  }
  TableUploader uploader_;
};

at::Tensor pass_messages(const DeviceBatch& b, const at::Tensor& atoms, const at::Tensor& weight) {
  at::Tensor msg = at::mm(atoms.index_select(0, b.from), weight);
  at::Tensor acc = at::zeros_like(atoms);
  acc.index_add_(0, b.to, msg);
  return at::relu(acc + atoms);
}

at::Tensor embed(const std::vector<std::vector<Molecule>>& batches, const at::Tensor& atoms, const at::Tensor& weight) {
  c10::cuda::CUDAGuard guard(atoms.device());
  Collator collator(atoms.device());
  std::vector<at::Tensor> pooled;
  for (const auto& mols : batches) {
    DeviceBatch b = collator.collate(mols);
    pooled.push_back(pass_messages(b, atoms, weight).mean(0));
  }
  return at::stack(pooled);
}

}  // namespace molnet

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <deque>
#include <vector>

namespace kv {

class BlockAllocator {
public:
    explicit BlockAllocator(int32_t blocks) {
        for (int32_t b = 0; b < blocks; ++b) free_.push_back(b);
    }
    int32_t take() {
        int32_t b = free_.front();
        free_.pop_front();
        return b;
    }
    void give(int32_t b) { free_.push_back(b); }

private:
    std::deque<int32_t> free_;
};

struct Sequence {
    std::vector<int32_t> blocks;
};

class OffsetTable {
public:
    OffsetTable(int64_t maxBatch, int64_t maxBlocks)
        : maxBatch_(maxBatch),
          maxBlocks_(maxBlocks),
          staging_(pinned()),
          device_(at::zeros({maxBatch, maxBlocks}, at::TensorOptions().device(at::kCUDA).dtype(at::kInt))) {}

    const at::Tensor& update(const std::vector<Sequence>& batch) {
        for (size_t row = 0; row < batch.size(); ++row) fillRow(row, batch[row]);
        upload();
        return device_;
    }

private:
    at::Tensor pinned() const {
        return at::empty({maxBatch_, maxBlocks_}, at::TensorOptions().dtype(at::kInt).pinned_memory(true));
    }

    void fillRow(size_t row, const Sequence& s) {
        int32_t* out = staging_.data_ptr<int32_t>() + row * maxBlocks_;
        for (int64_t i = 0; i < maxBlocks_; ++i) {
            out[i] = i < static_cast<int64_t>(s.blocks.size()) ? s.blocks[i] : -1;
        }
    }

    void upload() { device_.copy_(staging_, /*non_blocking=*/true); }

    int64_t maxBatch_, maxBlocks_;
    at::Tensor staging_;
    at::Tensor device_;
};

class DecodeLoop {
public:
    DecodeLoop(int64_t batch, int64_t maxBlocks)
        : allocator_(static_cast<int32_t>(batch * maxBlocks)),
          sequences_(batch),
          table_(batch, maxBlocks),
          cache_(at::zeros({batch * maxBlocks, 128}, at::TensorOptions().device(at::kCUDA))) {}

    void step(int64_t index) {
        for (auto& s : sequences_) grow(s, index);
        const at::Tensor& offsets = table_.update(sequences_);
        auto rows = cache_.index_select(0, offsets.flatten().clamp_min(0));
        state_ = rows.view({static_cast<int64_t>(sequences_.size()), -1}).sum(1);
    }

    const at::Tensor& state() const { return state_; }

private:
    void grow(Sequence& s, int64_t index) {
        if (index % 16 != 0) return;
        if (s.blocks.size() >= 32) {
            for (auto b : s.blocks) allocator_.give(b);
            s.blocks.clear();
        }
        s.blocks.push_back(allocator_.take());
    }

    BlockAllocator allocator_;
    std::vector<Sequence> sequences_;
    OffsetTable table_;
    at::Tensor cache_;
    at::Tensor state_;
};

}  // namespace kv

int main() {
    kv::DecodeLoop loop(32, 64);
    for (int64_t i = 0; i < 1024; ++i) loop.step(i);
    c10::cuda::getCurrentCUDAStream().synchronize();
    return loop.state().defined() ? 0 : 1;
}

// Sparse MLA attention module with indexer and compressor overlapped on an auxiliary stream.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace tensorrt_llm::mla
{

struct MlaConfig
{
    int64_t hidden{2048};
    int64_t indexDim{128};
    int64_t topK{64};
    int64_t compressRatio{4};
};

struct MlaWeights
{
    at::Tensor wIndex;    // [hidden, indexDim]
    at::Tensor wCompress; // [hidden * ratio, hidden]
    at::Tensor wOut;      // [hidden, hidden]
};

class EventPair
{
public:
    void handOver(c10::cuda::CUDAStream const& from, c10::cuda::CUDAStream const& to)
    {
        mEvent.record(from);
        mEvent.block(to);
    }

private:
    at::cuda::CUDAEvent mEvent;
};

class SparseMlaLayer
{
public:
    SparseMlaLayer(MlaConfig cfg, MlaWeights w, c10::cuda::CUDAStream aux)
        : mCfg(cfg)
        , mWeights(std::move(w))
        , mAux(aux)
    {
        mWeights.wIndex.record_stream(mAux);
        mWeights.wCompress.record_stream(mAux);
    }

    at::Tensor forward(at::Tensor const& hidden)
    {
        auto const main = c10::cuda::getCurrentCUDAStream(hidden.get_device());
        mFork.handOver(main, mAux);
        hidden.record_stream(mAux);

        at::Tensor attended;
        {
            at::Tensor indices = runIndexer(hidden);
            mIndexerDone.handOver(mAux, main);
            attended = attend(hidden, indices);
        }
        at::Tensor compressed = runCompressor(hidden);
        mCompressorDone.handOver(mAux, main);
        compressed.record_stream(main);
        return combine(attended, compressed);
    }

private:
    // Selects the top-k tokens; runs on the auxiliary stream.
    at::Tensor runIndexer(at::Tensor const& hidden)
    {
        c10::cuda::CUDAStreamGuard guard(mAux);
        at::Tensor scores = at::matmul(hidden, mWeights.wIndex).sum(-1);
        return std::get<1>(at::topk(scores, mCfg.topK)).contiguous();
    }

    at::Tensor attend(at::Tensor const& hidden, at::Tensor const& indices)
    {
        at::Tensor selected = hidden.index_select(0, indices);
        at::Tensor probs = at::softmax(at::matmul(hidden, selected.t()), -1);
        return at::matmul(probs, selected);
    }

    // Pools the sequence by compressRatio; runs on the auxiliary stream.
    at::Tensor runCompressor(at::Tensor const& hidden)
    {
        c10::cuda::CUDAStreamGuard guard(mAux);
        int64_t const rows = hidden.size(0) / mCfg.compressRatio;
        at::Tensor positions = at::arange(rows, hidden.options().dtype(at::kLong));
        at::Tensor blocks = hidden.narrow(0, 0, rows * mCfg.compressRatio).reshape({rows, -1});
        at::Tensor pooled = at::matmul(blocks, mWeights.wCompress);
        return pooled.index_select(0, positions);
    }

    at::Tensor combine(at::Tensor const& attended, at::Tensor const& compressed)
    {
        return at::matmul(attended, mWeights.wOut).add_(compressed.mean(0, /*keepdim=*/true));
    }

    MlaConfig mCfg;
    MlaWeights mWeights;
    c10::cuda::CUDAStream mAux;
    EventPair mFork, mIndexerDone, mCompressorDone;
};

} // namespace tensorrt_llm::mla

at::Tensor runLayers(at::Tensor hidden, std::vector<tensorrt_llm::mla::MlaWeights> const& weights)
{
    auto const aux = c10::cuda::getStreamFromPool(/*isHighPriority=*/true, hidden.get_device());
    std::vector<std::unique_ptr<tensorrt_llm::mla::SparseMlaLayer>> layers;
    for (auto const& w : weights)
        layers.push_back(std::make_unique<tensorrt_llm::mla::SparseMlaLayer>(tensorrt_llm::mla::MlaConfig{}, w, aux));
    for (auto& layer : layers)
        hidden = layer->forward(hidden);
    return hidden;
}

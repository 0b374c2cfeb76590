"""Activation offload through saved_tensors_hooks with one copy stream per direction."""
import torch
import torch.nn as nn
from torch.autograd.graph import saved_tensors_hooks

TOKENS, DIM, LAYERS, STEPS = 4096, 4096, 5, 3


class OffloadSaved(saved_tensors_hooks):
    def __init__(self, module, min_bytes=1 << 20):
        super().__init__(self.save, self.load)
        self.down = torch.cuda.Stream()
        self.up = torch.cuda.Stream()
        self.min_bytes = min_bytes
        self.weights = {p.untyped_storage().data_ptr() for p in module.parameters()}

    def save(self, tensor):
        if (tensor.nbytes < self.min_bytes
                or tensor.untyped_storage().data_ptr() in self.weights):
            return tensor, None
        host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        self.down.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.down):
            host.copy_(tensor, non_blocking=True)
            done = self.down.record_event()
        tensor.record_stream(self.down)
        return host, done

    def load(self, packed):
        tensor, done = packed
        if done is None:
            return tensor
        current = torch.cuda.current_stream()
        with torch.cuda.stream(self.up):
            self.up.wait_event(done)
            device = tensor.to("cuda", non_blocking=True)
            ready = self.up.record_event()
        current.wait_event(ready)
        device.record_stream(current)
        return device


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(DIM, DIM) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x)) * 0.5 + x
        return x


def main():
    torch.manual_seed(0)
    model = Mlp().cuda()
    hooks = OffloadSaved(model)
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(TOKENS, DIM, device="cuda")
    for _ in range(STEPS):
        with hooks:
            loss = model(data).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    print("loss", loss.item())


if __name__ == "__main__":
    main()

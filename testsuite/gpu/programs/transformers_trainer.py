# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformers' Trainer on a small GPT-2 in BF16, with two workers of DataLoader: for torchrun, which starts it as a process
of its own.
"""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

STEPS = 40


class Words(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        words = torch.randint(0, 1000, (64,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": words, "labels": words}


def main():
    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_positions=64, n_embd=128, n_layer=4, n_head=4))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, max_steps=STEPS, per_device_train_batch_size=16, bf16=True,
                                      dataloader_num_workers=2, save_steps=STEPS // 2, report_to=[], disable_tqdm=True)
        trained = Trainer(model=model, args=arguments, train_dataset=Words()).train()
    print(trained.global_step, "steps")


if __name__ == "__main__":
    main()

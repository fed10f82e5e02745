"""Models of libraries, with random weights, through torch.compile: does tilewright run all of them?

    python -m benchmarks.torch_models torchvision          # every model of the list
    python -m benchmarks.torch_models transformers bert    # one of them

Prints how far the results are from PyTorch's, as a share of the largest, how many kernels a call
runs, and what is left to PyTorch.
"""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from tilewright.graph.torch import Report, backend

Case = tuple[torch.nn.Module, tuple[torch.Tensor, ...]]

TORCHVISION = (
    "resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5",
    "efficientnet_b0", "regnet_y_400mf", "convnext_tiny", "densenet121", "googlenet", "alexnet",
    "mnasnet0_5", "vit_b_16", "swin_t",
)  # fmt: skip
TIMM = (
    "resnet10t", "mobilenetv3_small_050", "efficientvit_b0", "vit_tiny_patch16_224",
    "mixer_s32_224", "ghostnet_050", "convnext_atto", "levit_128s", "edgenext_xx_small",
    "swin_tiny_patch4_window7_224", "mobilevit_xxs", "poolformer_s12", "repvgg_a0", "dla34",
    "xcit_nano_12_p16_224", "coat_tiny", "pvt_v2_b0", "fastvit_t8", "mobileone_s0", "nfnet_l0",
)  # fmt: skip
SIZES: Mapping[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip
WORDS: Mapping[str, Any] = {**SIZES, "vocab_size": 99, "max_position_embeddings": 64}
PIXELS: Mapping[str, Any] = {**SIZES, "image_size": 32, "patch_size": 8}


class Called(torch.nn.Module):
    """A model of transformers', which takes its inputs by name; returns its first output."""

    def __init__(self, model: torch.nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, inputs, strict=True)), return_dict=False)[0]


def declare() -> None:
    """Declare operators of torchvision's that it fails without where its library does not load.

    That is so where it was built for a PyTorch with CUDA; no classifier uses them.
    """
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in "nms", "qnms":
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _KEPT.append(library)  # what it declares goes with it


_KEPT: list[Any] = []


def torchvision(name: str) -> Case:
    import torchvision.models

    size = {"vit_b_16": 64, "swin_t": 64}.get(name, 96)
    more: dict[str, Any] = {"image_size": size} if name == "vit_b_16" else {}
    if name == "googlenet":
        more = {"init_weights": False, "aux_logits": False}
    return torchvision.models.get_model(name, weights=None, **more), (
        torch.randn(1, 3, size, size),
    )


def timm(name: str) -> Case:
    import timm

    size = 224 if name.endswith("_224") or name == "levit_128s" else 96
    return timm.create_model(name, pretrained=False), (torch.randn(1, 3, size, size),)


def transformers(name: str) -> Case:
    import transformers as t

    few, ids = {"num_key_value_heads": 2, "use_cache": False}, torch.randint(0, 90, (2, 12))
    image, mask = torch.randn(2, 3, 32, 32), torch.ones(2, 12, dtype=torch.long)
    made: Mapping[str, Callable[[], Any]] = {
        "bert": lambda: t.BertModel(t.BertConfig(**WORDS)),
        "distilbert": lambda: t.DistilBertModel(
            t.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=64, vocab_size=99)
        ),
        "gpt2": lambda: t.GPT2LMHeadModel(
            t.GPT2Config(
                n_embd=32, n_layer=2, n_head=4, vocab_size=99, use_cache=False, bos_token_id=0,
                eos_token_id=0,
            )
        ),
        "roberta": lambda: t.RobertaModel(t.RobertaConfig(**WORDS)),
        "bloom": lambda: t.BloomForCausalLM(
            t.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=99, use_cache=False)
        ),
        "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**WORDS, **few)),
        "qwen2": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**WORDS, **few)),
        "t5": lambda: t.T5EncoderModel(
            t.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99)
        ),
        "vit": lambda: t.ViTModel(t.ViTConfig(**PIXELS)),
        "clip": lambda: t.CLIPVisionModel(t.CLIPVisionConfig(**PIXELS)),
        "segformer": lambda: t.SegformerModel(
            t.SegformerConfig(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1])
        ),
    }  # fmt: skip
    if name in ("vit", "clip"):
        return Called(made[name](), ("pixel_values",)), (image,)
    if name == "segformer":
        return Called(made[name](), ("pixel_values",)), (torch.randn(1, 3, 64, 64),)
    if name in ("bert", "distilbert", "roberta", "bloom"):
        return Called(made[name](), ("input_ids", "attention_mask")), (ids, mask)
    return Called(made[name](), ("input_ids",)), (ids,)


TRANSFORMERS = (
    "bert", "distilbert", "roberta", "gpt2", "bloom", "llama", "qwen2", "t5", "vit", "clip",
    "segformer",
)  # fmt: skip
LIBRARIES: Mapping[str, tuple[Callable[[str], Case], tuple[str, ...]]] = {
    "torchvision": (torchvision, TORCHVISION),
    "timm": (timm, TIMM),
    "transformers": (transformers, TRANSFORMERS),
}


def compared(case: Case) -> tuple[float, list[Report]]:
    """Return the largest error of a model, as a share of its largest result, and the reports."""
    model, inputs = case
    for parameter in model.parameters():
        if not parameter.any():  # as that of a head may be, after which there is nothing to see
            torch.nn.init.normal_(parameter, std=0.02)
    reports: list[Report] = []
    torch.compiler.reset()
    run = torch.compile(model.eval(), backend=backend, options={"watch": reports.append})
    with torch.inference_mode():
        made, wanted = (pytree.tree_leaves(f(*inputs)) for f in (run, model))
    errors = [float((a - b).abs().max() / b.abs().max()) for a, b in zip(made, wanted, strict=True)]
    return max(errors), reports


def lines(library: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield what is said of each model, one after another."""
    make, every = LIBRARIES[library]
    for name in names or every:
        torch.manual_seed(0)
        error, reports = compared(make(name))
        yield f"{name}: error {error:.1e}; {'; '.join(map(str, reports))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("models", nargs="*")
    asked = parser.parse_args()
    declare()
    for library in "torch", asked.library:
        print(library, importlib.metadata.version(library))
    for line in lines(asked.library, tuple(asked.models)):
        print(line, flush=True)


if __name__ == "__main__":
    main()

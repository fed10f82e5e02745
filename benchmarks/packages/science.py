"""Networks of the sciences: brain waves, proteins, reactions."""

from __future__ import annotations

from benchmarks.packages.inputs import Input, Uniform, Whole
from benchmarks.packages.network import Network, Package

_BRAINMAZE = Package("brainmaze-eeg-models", "0.1.0", "BSD-3-Clause")
_CAUSTIC = Package("caustic-nmr", "0.4.1", "MIT")
_RXNMAP = Package("chython-rxnmap", "2.0", "LGPL-3.0-or-later")

# fmt: off
SCIENCE: tuple[Network, ...] = (
    Network("eeg-seizure", _BRAINMAZE, "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx",
            "088c815a10b54435432a0bef2629977d59e655a0c60b48a89e744aa52b6d48e3",
            (Input((1, 100, 20)),)),
    Network("eeg-spindles", _BRAINMAZE,
            "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx",
            "8368ef11554dda32178d65320c5b4690456c5c6cebd207d4ba0e68d3d5179e81",
            (Input((1, 1, 7500)), Input((1, 15, 7500)))),
    Network("ieeg-spindles", _BRAINMAZE,
            "brainmaze_eeg_models/spindles/_models/spindle-detector-ieeg.onnx",
            "75291ee435ff08360f869ee7279f00d61de557d2a37c57d860f1257e228ba0e8",
            (Input((1, 1, 7500)), Input((1, 15, 7500)))),
    Network("caustic-nmr", _CAUSTIC, "caustic/data/best_v2_carbons.onnx",
            "ebc7bbc2fc59327a50384105207958948cd90d7b5c7ea1ec2906b473e02948b2",
            (Input((40,), Whole(0, 6)), Input((40,), Whole(0, 20)), Input((40,), Whole(0, 13)),
             Input((40,)), Input((2, 200), Whole(0, 39)), Input((200,), Uniform(0.5, 5)),
             Input((200,), Whole(0, 32)), Input((200,), Whole(0, 1)),
             Input((6, 6), Whole(0, 39)), Input((6, 6), Whole(1, 1)), Input((6,), Whole(0, 19)),
             Input((6, 52)), Input((6, 6, 15)), Input((6, 1)), Input((6, 6), Uniform(0, 1)),
             Input((40, 3)), Input((40, 3)), Input((200,), Whole(0, 1)), Input((200,)))),
    Network("rxnmap", _RXNMAP, "chython_rxnmap/rxnmap.onnx",
            "a4c60aba5c3524dda96ea3af9e1487d3fb09a4e376604e506b1f0064cfcef2e0",
            (Input((1, 24), Whole(1, 120)), Input((1, 24), Whole(1, 16)),
             Input((1, 24, 24), Whole(0, 12)), Input((1, 24), Whole(1, 3)))),
)

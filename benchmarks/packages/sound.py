"""Networks that hear: speech or none, wake words, quality, pitch."""

from __future__ import annotations

from benchmarks.packages.inputs import Input, Uniform, Whole
from benchmarks.packages.network import Network, Package

_SILERO = Package("silero-vad", "6.2.3", "MIT")
_FASTER_WHISPER = Package("faster-whisper", "1.2.1", "MIT")
_PIPECAT = Package("pipecat-ai", "1.14.0", "BSD-2-Clause")
_OPENWAKEWORD = Package("openwakeword", "0.4.0", "Apache-2.0, models CC BY-NC-SA 4.0")
_SPEECHMOS = Package("speechmos", "0.0.1.1", "MIT")
_BASIC_PITCH = Package("basic-pitch", "0.4.0", "Apache-2.0")
_SWIFT_F0 = Package("swift-f0", "0.3.0", "MIT")

SOUND: tuple[Network, ...] = (
    Network(
        "silero-vad",
        _SILERO,
        "silero_vad/data/silero_vad.onnx",
        "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        (Input((1, 576)), Input((2, 1, 128)), Input((), Whole(16000, 16000))),
        control="If on the sampling rate",
    ),
    Network(
        "silero-vad-16k",
        _SILERO,
        "silero_vad/data/silero_vad_16k_op15.onnx",
        "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
        (Input((1, 576)), Input((2, 1, 128)), Input((), Whole(16000, 16000))),
        control="If",
    ),
    Network(
        "silero-vad-sequence",
        _SILERO,
        "silero_vad/data/silero_vad_16k_sequence.onnx",
        "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85",
        (Input((4, 576)), Input((1, 1, 128)), Input((1, 1, 128))),
    ),
    Network(
        "silero-vad-half",
        _SILERO,
        "silero_vad/data/silero_vad_half.onnx",
        "1e0b195ad4806595ef4466f419d16fca7e4afcfc6669b8c0b5f76ea87547c769",
        (Input((1, 576)), Input((2, 1, 128))),
        control="If",
    ),
    Network(
        "silero-vad-ifless",
        _SILERO,
        "silero_vad/data/silero_vad_op18_ifless.onnx",
        "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
        (Input((1, 576)), Input((), Whole(16000, 16000)), Input((2, 1, 128))),
        control="If on the sampling rate",
    ),
    Network(
        "silero-vad-openvino",
        _SILERO,
        "silero_vad/data/silero_vad_openvino_16k.onnx",
        "7776b81ad1b0350c15d7f1555943b9232eb53e9ca5d989c6d0cea9ebc8664d87",
        (Input((1, 576)), Input((2, 1, 128))),
    ),
    Network(
        "silero-vad-whisper",
        _FASTER_WHISPER,
        "faster_whisper/assets/silero_vad_v6.onnx",
        "4cbf549b8326f60f80f2536d9eefeb450a9abe83365a098031c89719f1be17d2",
        (Input((4, 576)), Input((1, 1, 128)), Input((1, 1, 128))),
    ),
    Network(
        "smart-turn",
        _PIPECAT,
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
        (Input((1, 80, 800)),),
        tolerance=1e-2,
    ),
    Network(
        "silero-vad-v4",
        _OPENWAKEWORD,
        "openwakeword/resources/models/silero_vad.onnx",
        "a35ebf52fd3ce5f1469b2a36158dba761bc47b973ea3382b3186ca15b1f5af28",
        (Input((1, 512)), Input((), Whole(16000, 16000)), Input((2, 1, 64)), Input((2, 1, 64))),
        control="If on the sampling rate",
    ),
    Network(
        "wakeword-melspectrogram",
        _OPENWAKEWORD,
        "openwakeword/resources/models/melspectrogram.onnx",
        "ba2b0e0f8b7b875369a2c89cb13360ff53bac436f2895cced9f479fa65eb176f",
        (Input((1, 12400), Uniform(-1000, 1000)),),
    ),
    Network(
        "wakeword-embedding",
        _OPENWAKEWORD,
        "openwakeword/resources/models/embedding_model.onnx",
        "ba754db3cd768a524c655ea90655ee5e6055a43b8dfd29366a11e93716ae9e51",
        (Input((1, 76, 32, 1)),),
    ),
    Network(
        "wakeword-alexa",
        _OPENWAKEWORD,
        "openwakeword/resources/models/alexa_v0.1.onnx",
        "6ff566a01d12670e8d9e3c59da32651db1575d17272a601b7f8a39283dfbae3e",
        (Input((1, 16, 96)),),
    ),
    Network(
        "wakeword-jarvis",
        _OPENWAKEWORD,
        "openwakeword/resources/models/hey_jarvis_v0.1.onnx",
        "94a13cfe60075b132f6a472e7e462e8123ee70861bc3fb58434a73712ee0d2cb",
        (Input((1, 16, 96)),),
        control="If on the result",
    ),
    Network(
        "wakeword-marvin",
        _OPENWAKEWORD,
        "openwakeword/resources/models/hey_marvin_v0.1.onnx",
        "b6d4b794ddf2e1d6f29e9f45848e24858e2edd0d810b14e0c1c70dda9a1fcbf0",
        (Input((1, 16, 96)),),
    ),
    Network(
        "wakeword-mycroft",
        _OPENWAKEWORD,
        "openwakeword/resources/models/hey_mycroft_v0.1.onnx",
        "785bdf5655863ae47553b23793aa108c7b0152d4823f7869b41f2d2d765912fc",
        (Input((1, 16, 96)),),
    ),
    Network(
        "wakeword-timer",
        _OPENWAKEWORD,
        "openwakeword/resources/models/timer_v0.1.onnx",
        "371e44535470a29248b3b8f1bbbbaf2525c86417fd8f75c67fcf02ae0b9626df",
        (Input((1, 34, 96)),),
    ),
    Network(
        "wakeword-weather",
        _OPENWAKEWORD,
        "openwakeword/resources/models/weather_v0.1.onnx",
        "8441da8e746899e8d969528d5bad5651cdd563079c05962788f77753041f60e7",
        (Input((1, 22, 96)),),
    ),
    Network(
        "aecmos-1",
        _SPEECHMOS,
        "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx",
        "b517d8d9ca2f91ea55d15f605a15917c19be5d832868fe115c7c5bc48986dae1",
        (Input((1, 3, 64, 160)), Input((4, 1, 64))),
    ),
    Network(
        "aecmos-2",
        _SPEECHMOS,
        "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx",
        "f53122f43cb7e5b77ec797e85c8b997cfc2aac8220857c709226d876de8c0a99",
        (Input((1, 3, 64, 160)), Input((4, 1, 64))),
    ),
    Network(
        "aecmos-3",
        _SPEECHMOS,
        "speechmos/aecmos_models/Run_1668423760_Stage_0.onnx",
        "b57bc007046d7230008ad2b802cb378f998ff3d96be074389a4d07533b7d4aaf",
        (Input((1, 3, 64, 160)), Input((4, 1, 96))),
    ),
    Network(
        "dnsmos-bak",
        _SPEECHMOS,
        "speechmos/dnsmos_models/bak_ovr.onnx",
        "5f335c90994618150192a656a474bcf8a9cbcedbc47965494ba8da79605d1308",
        (Input((1, 901, 161)),),
    ),
    Network(
        "dnsmos-p808",
        _SPEECHMOS,
        "speechmos/dnsmos_models/model_v8.onnx",
        "9246480c58567bc6affd4200938e77eef49468c8bc7ed3776d109c07456f6e91",
        (Input((1, 900, 120)),),
    ),
    Network(
        "dnsmos-sig",
        _SPEECHMOS,
        "speechmos/dnsmos_models/sig.onnx",
        "d2fbdb293bc2366dfbae2b7477c490f981d24a8b4405efd3c11787569c6549d7",
        (Input((1, 901, 161)),),
    ),
    Network(
        "dnsmos",
        _SPEECHMOS,
        "speechmos/dnsmos_models/sig_bak_ovr.onnx",
        "269fbebdb513aa23cddfbb593542ecc540284a91849ac50516870e1ac78f6edd",
        (Input((1, 144160)),),
    ),
    Network(
        "dnsmos-personal",
        _SPEECHMOS,
        "speechmos/pdnsmos_models/sig_bak_ovr.onnx",
        "9e3a197449ca2177f0997afec3bd6b890117ce2f17b89d6eea7fa0d47272c81c",
        (Input((1, 144160)),),
    ),
    Network(
        "plcmos",
        _SPEECHMOS,
        "speechmos/plcmos_models/plcmos_v2.onnx",
        "c0ad3fc64ef9682b4749c0e96636b41c73b4b30bd123b9348feea06a96895286",
        (Input((1, 1, 100, 257)), Input((1, 64))),
    ),
    Network(
        "basic-pitch",
        _BASIC_PITCH,
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
        (Input((1, 43844, 1)),),
        tolerance=5e-4,
    ),
    Network(
        "swift-f0",
        _SWIFT_F0,
        "swift_f0/model.onnx",
        "6385e8c2ebc3872e82c9ff5946228de44cd3be77a750ea53698b7dbfe94b0a22",
        (
            Input((1, 16000)),
            Input((), Uniform(46.875, 46.875)),
            Input((), Uniform(2093.75, 2093.75)),
        ),
    ),
)

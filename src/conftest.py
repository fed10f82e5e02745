"""What holds no examples to test, and needs PyTorch to be imported."""

collect_ignore_glob = ["tilewright/graph/torch/*"]

"""The graph network: encoder, pair head, losses, training and inference on sub-graphs."""

"""The default OpenGCN: learn to read a graph of unlabelled embeddings by rehearsing on D_train."""

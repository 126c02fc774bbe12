"""The names under which configurations give the same thing; the first that is there counts."""

LAYERS = (
    "num_hidden_layers", "n_layer", "num_layers", "n_layers", "num_transformer_layers", "decoder_layers",
    "num_decoder_layers", "decoder_num_hidden_layers", "layers",
)  # fmt: skip
QUERY_HEADS = (
    "num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads",
    "num_decoder_attention_heads", "decoder_num_attention_heads", "num_query_heads", "attention_heads",
)  # fmt: skip
KV_HEADS = (
    "n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups",
    "decoder_num_key_value_heads",
)  # fmt: skip
WIDTHS = ("head_dim", "attention_head_dim", "kv_channels", "hidden_size_per_head", "d_kv")
HIDDEN = ("hidden_size", "n_embd", "d_model", "dim", "model_dim", "embed_dim", "n_embed")
WINDOWS = ("sliding_window", "sliding_window_size", "attention_window_size", "window_size")
LENGTHS = (
    "max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length", "n_ctx",
    "max_target_positions", "model_max_length",
)  # fmt: skip
ALL = (LAYERS, QUERY_HEADS, KV_HEADS, WIDTHS, HIDDEN, WINDOWS, LENGTHS)

"""Which types the peer is asked about, and how their configurations must differ from their class's defaults.

peer_changes.jsonl has what a class's default lacks that every published file sets, and fewer layers or
experts for models too large to build quickly: what a layer keeps is the same. peer_perturbed.jsonl has types
away from their defaults: fewer heads, other counts of layers, other windows, other patterns, other widths.
"""

from typing import Any

from transformers.models.auto import modeling_auto

from tests.plan.huggingface.legacy import rows

CHANGES: dict[str, dict[str, Any]] = dict(rows("peer_changes.jsonl"))
PERTURBED = rows("peer_perturbed.jsonl")

# Types that ask data what the meta device cannot answer: small ones, and real.
ON_CPU = ("jetmoe", "switch_transformers")

# A type whose file says more than its class writes: the fields to add to the record.
UNWRITTEN: dict[str, dict[str, Any]] = {"mimo_v2_flash": {"swa_num_key_value_heads": 8}}

# Types that are not asked about, and why.
LEFT_OUT = {
    "pp_formulanet": "its decoder cannot be run beside an encoder's output that is given",
    "dia": "nine tokens enter side by side",
    "kyutai_speech_to_text": "33 tokens enter side by side",
    "pi0": "actions enter beside tokens",
    "idefics": "it refuses to run without a picture",
    "blip": "its text part keeps nothing",
    "openai-gpt": "the peer reads the whole text again for each token",
    "xlm": "the peer reads the whole text again for each token",
    "reformer": "the peer's cache holds the inputs of layers and buckets of hashes",
    "xlnet": "the peer keeps the inputs of layers, not their keys and values",
    "blt": "three models in one, of which the longest reads patches and not tokens",
    "speech-encoder-decoder": "its encoder has to be fed with sound; its decoder is asked for by itself",
    "speecht5": "its encoder has to be fed with sound",
    "gemma4_assistant": "a draft model that reads another model's memory",
    "gemma4_unified_assistant": "a draft model that reads another model's memory",
}

TYPES: tuple[str, ...] = tuple(
    dict.fromkeys(
        name
        for names in (
            modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
            modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
            modeling_auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
            modeling_auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
        )
        for name in names
        if name not in LEFT_OUT
    )
)

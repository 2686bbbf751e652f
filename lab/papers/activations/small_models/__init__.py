"""GPT-Neo and RoBERTa with fixed and learnable activations and with KANs (activations paper, Sections 3 and 4)."""

"""A warp-specialized kernel that decodes codes in registers and multiplies bf16."""

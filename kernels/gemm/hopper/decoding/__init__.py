"""A warp-specialized kernel that decodes MXFP8 codes in registers and multiplies bf16."""

"""Jobs that make later ones fast: what a GEMM runs is compiled before anybody asks for it."""

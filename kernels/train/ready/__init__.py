"""Jobs that make later ones fast: what a training run computes is compiled before anybody asks for it."""

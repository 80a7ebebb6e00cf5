"""RuBia: minimal sentence pairs in Russian, scored by perplexity."""

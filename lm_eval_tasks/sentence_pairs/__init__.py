"""Minimal pairs of sentences, scored by perplexity: what RuBia and a set of one's own share."""

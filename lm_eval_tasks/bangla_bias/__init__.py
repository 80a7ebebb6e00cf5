"""BanglaSocialBias: prompts that make a model choose between two groups, in Bangla."""

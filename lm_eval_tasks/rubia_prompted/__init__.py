"""RuBia asked as yes/no questions, for chat models."""

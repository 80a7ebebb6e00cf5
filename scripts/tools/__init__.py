"""Measuring tools: speed, memory, simulations, agreement of backends. Not part of the installed package."""
